/** `pontoon uninstall`. */
export type UninstallFlags = {
  readonly dir: string
}

export async function run(_flags: UninstallFlags): Promise<number> {
  return 1
}
