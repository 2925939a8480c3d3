/* Room for the start image, or, with IMAGE, the start image itself: see image.h. */
#ifdef IMAGE
    .section .image, "aw", @progbits
#else
    .section .image, "aw", @nobits
#endif
    .balign 4096
    .globl image_begin, image_end
image_begin:
#ifdef IMAGE
    .incbin IMAGE
#elif defined(ROOM)
    .skip ROOM
#endif
image_end:
    .section .note.GNU-stack, "", @progbits
