import { installFolder } from '../support/installed-folder.ts'

/** Before any of the tests of the published client: the client itself. */
export function setup(): void {
  installFolder(new URL('.', import.meta.url))
}
