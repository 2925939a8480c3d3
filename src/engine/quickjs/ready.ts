/**
 * Makes the engine make all of its built-in objects: it puts off each until it is first asked for, and what is made
 * while the executable is built need not be made in each process.
 */
export function readyBuiltIns(): void {
  const seen = new Set<unknown>()
  const visit = (value: unknown): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
    seen.add(value)
    for (const key of Reflect.ownKeys(value)) {
      const found = Object.getOwnPropertyDescriptor(value, key)
      visit(found?.value)
      visit(found?.get)
      visit(found?.set)
    }
    visit(Object.getPrototypeOf(value))
  }
  visit(globalThis)
}
