import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { machineTime } from './narrow-place.ts'
import { observe } from './observer.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Builds a program of this folder, once for all its lives; next to the drivers it loads. */
export async function buildProgram(
  name: 'worker' | 'witness' | 'traced' | 'scheduled' | 'closing' | 'migrating',
): Promise<string> {
  const outfile = `${here}node_modules/.cache/${name}-${process.pid}.mjs`
  await build({
    entryPoints: [`${here}kill/${name}.ts`],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['@opentelemetry/*'],
    alias: {
      waitpoint: `${root}src/index.ts`,
      'waitpoint/postgres': `${root}src/postgres.ts`,
      'waitpoint/sqlite': `${root}src/sqlite.ts`,
      'waitpoint/otel': `${root}src/otel.ts`,
    },
    logLevel: 'silent',
  })
  return outfile
}

export interface ProgramOptions {
  /** How long the others wait for a sign of its life. Default: as long as they do by default. */
  readonly leaseMs?: number
  /** How far its wall clock is ahead of the others'. Default: not at all. */
  readonly aheadMs?: number
  /** How long it rests between two rounds of its load. Default: not at all. */
  readonly roundPauseMs?: number
}

/** Starts a program with its arguments. It ends with this process, whose end it sees on its standard input. */
export function startProgram(
  command: readonly string[],
  { leaseMs, aheadMs, roundPauseMs }: ProgramOptions = {},
): ChildProcess {
  const env = {
    ...process.env,
    ...(leaseMs !== undefined && { WAITPOINT_LEASE_MS: String(leaseMs) }),
    ...(aheadMs !== undefined && { WAITPOINT_AHEAD_MS: String(aheadMs) }),
    ...(roundPauseMs !== undefined && { WAITPOINT_ROUND_PAUSE_MS: String(roundPauseMs) }),
  }
  return spawn(process.execPath, command, { env, stdio: ['pipe', 'pipe', 'inherit'] })
}

/** What it printed, once it has ended by itself. */
export async function ended(child: ChildProcess): Promise<string> {
  let stdout = ''
  child.stdout?.on('data', (data) => (stdout += String(data)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`The program ended with ${code}`)
  return stdout
}

/**
 * Kills the process at any point of its work, as a power cut would. With `file`, the kill is recorded there first: the
 * next process may start before the exit of this one is reported.
 */
export async function killNow(child: ChildProcess, file?: string): Promise<void> {
  if (file !== undefined) observe(file, { what: 'gone', pid: child.pid ?? 0, at: machineTime() })
  if (child.exitCode !== null) throw new Error(`The program has ended by itself, with ${child.exitCode}`)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
