/** Which Pontoon this is. The build puts both in; unbundled, as in tests, they are `dev`. */
export const VERSION: string = typeof PONTOON_VERSION === 'string' ? PONTOON_VERSION : 'dev'
export const COMMIT: string = typeof PONTOON_COMMIT === 'string' ? PONTOON_COMMIT : 'dev'
