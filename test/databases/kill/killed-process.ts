import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Builds a program of this folder, once for all its lives; next to the drivers it loads. */
export async function buildWorker(): Promise<string> {
  const here = fileURLToPath(new URL('..', import.meta.url))
  const outfile = `${here}node_modules/.cache/worker-${process.pid}.mjs`
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  await build({
    entryPoints: [`${here}kill/worker.ts`],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    alias: { waitpoint: `${root}src/index.ts`, 'waitpoint/sqlite': `${root}src/sqlite.ts` },
    logLevel: 'silent',
  })
  return outfile
}

export function startWorker(program: string, ...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** What it printed, once it has ended by itself. */
export async function ended(child: ChildProcess): Promise<string> {
  let stdout = ''
  child.stdout?.on('data', (data) => (stdout += String(data)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`The worker ended with ${code}`)
  return stdout
}

/** Ends it as a power cut would end it, whatever it does just then. */
export async function killNow(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`The worker has ended by itself, with ${child.exitCode}`)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
