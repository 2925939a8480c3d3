import { defineConfig } from 'vitest/config'

/** `unit` needs nothing but Node; `netns` needs root, private namespaces and the built executables. */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], setupFiles: ['test/setup.ts'], testTimeout: 20_000 },
      },
      {
        extends: true,
        test: { name: 'netns', include: ['netns-tests/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
})
