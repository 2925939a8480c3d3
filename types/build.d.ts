/** Constants that the build puts in (scripts/build/). Absent when the source runs unbundled: ask with `typeof`. */
declare const PONTOON_VERSION: string
declare const PONTOON_COMMIT: string
declare const QUICKJS_VERSION: string
