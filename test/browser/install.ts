import { installFolder } from '../support/installed-folder.ts'
import { chromiumPath } from './chromium.ts'

/** Before any of the tests in a browser: the published hooks, and what drives the browser; but not the browser itself. */
export function setup(): void {
  if (chromiumPath === undefined) {
    const problem =
      'Cannot find Chromium: install it (Debian: apt-get install chromium), or set WAITPOINT_CHROMIUM to its path'
    if (process.env['CI']) throw new Error(problem)
    process.stderr.write(`test/browser: ${problem}. Its tests are skipped.\n`)
    return
  }
  installFolder(new URL('.', import.meta.url))
}
