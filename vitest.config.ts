import { defineConfig } from 'vitest/config'

/** Far more than any test takes, also on a machine that has much else to do. In milliseconds. */
const patience = { testTimeout: 600_000, hookTimeout: 600_000, teardownTimeout: 600_000 }

/** `unit` needs nothing but Node; `netns` needs root, private namespaces and the built executables. */
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], setupFiles: ['test/setup.ts'], ...patience },
      },
      {
        extends: true,
        test: { name: 'netns', include: ['netns-tests/**/*.test.ts'], ...patience },
      },
    ],
  },
})
