/** Constants that the build puts in (scripts/build/). Absent when the source runs unbundled: ask with `typeof`. */
declare const PONTOON_VERSION: string
declare const PONTOON_COMMIT: string
declare const QUICKJS_VERSION: string

declare module '*/scripts/build/bundle.mjs' {
  export const root: string
  export function bundle(
    engine: 'quickjs' | 'node',
    options: { entry: string; outfile?: string; outdir?: string; define?: Record<string, string> },
  ): Promise<readonly string[]>
}

declare module '*/scripts/build/quickjs.mjs' {
  export function buildQuickjs(options: {
    entry: string
    output: string
    arch?: string
    linking?: 'dynamic' | 'static'
  }): Promise<void>
}

declare module '*/scripts/build/node.mjs' {
  export function buildNode(options: { entry: string; output: string }): Promise<void>
}
