/** A module of its own, so that it is loaded only when it is needed. */
export { Address6 } from 'ip-address'
