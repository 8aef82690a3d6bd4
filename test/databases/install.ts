import { installFolder } from '../support/installed-folder.ts'

/** Before any of the tests of storages: the drivers of their databases. */
export function setup(): void {
  installFolder(new URL('.', import.meta.url))
}
