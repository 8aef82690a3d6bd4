import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

/** A child that is still there after so long was kept alive by mistake. */
const TIMEOUT_MS = 300_000

/** What a program prints until its process has ended by itself; it may import from `src/…`. */
export async function runInChild(program: string, timeoutMs: number = TIMEOUT_MS): Promise<string> {
  const bundle = await build({
    stdin: { contents: program, loader: 'ts', resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'silent',
  })
  const code = bundle.outputFiles[0]?.text ?? ''
  const child = promisify(execFile)
  const running = child(process.execPath, ['--input-type=module'], { timeout: timeoutMs })
  // Not as an argument: those have a limit that a bundle can exceed.
  running.child.stdin?.end(code)
  return (await running).stdout
}
