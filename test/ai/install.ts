import { installFolder } from '../support/installed-folder.ts'

/** Before any of the tests of a chat: the AI SDK, its hooks, and what drives the browser. */
export function setup(): void {
  installFolder(new URL('.', import.meta.url))
}
