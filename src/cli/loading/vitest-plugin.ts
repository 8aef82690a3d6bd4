import { fileURLToPath } from 'node:url'
import { hostedNames } from './names.ts'

/** The part of a plugin of Vite that this one has. */
export interface HostedNamesPlugin {
  readonly name: string
  config(): {
    resolve: { alias: { find: RegExp; replacement: string }[] }
  }
}

/**
 * A plugin of vitest and Vite: the names `@trigger.dev/sdk` and `@trigger.dev/sdk/v3` lead to `waitpoint/sdk`. What a test
 * mocks by one of these names stays mocked. See docs/hosted-task-files.md.
 *
 * @example
 * ```ts
 * export default defineConfig({ plugins: [waitpoint()] })
 * ```
 */
export function waitpoint(): HostedNamesPlugin {
  // The whole name: `@trigger.dev/sdk/ai` is no part of another one.
  const alias = Object.entries(hostedNames()).map(([name, url]) => ({
    find: new RegExp(`^${name.replace(/[.]/g, '\\.')}$`),
    replacement: fileURLToPath(url),
  }))
  return { name: 'waitpoint', config: () => ({ resolve: { alias } }) }
}
