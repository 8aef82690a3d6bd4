import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a program of the project in a process of its own, until it is disposed of: then it is asked to end. */
export async function otherProcess(program: URL): Promise<AsyncDisposable> {
  const path = fileURLToPath(program)
  // Where `pg` is found.
  const outfile = join(root, 'node_modules/.cache', `${basename(path)}-${process.pid}.mjs`)
  const alias = ['http', 'postgres', 'sqlite'].map((name) => [
    `waitpoint/${name}`,
    join(root, `src/${name}.ts`),
  ])
  await build({
    entryPoints: [path],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    alias: { ...Object.fromEntries(alias), waitpoint: join(root, 'src/index.ts') },
    logLevel: 'silent',
  })
  const child = spawn(process.execPath, [outfile], { stdio: ['ignore', 'inherit', 'inherit'] })
  const exit = once(child, 'exit')
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      const [code] = (await exit) as [number | null]
      rmSync(outfile, { force: true })
      if (code !== null && code !== 0) throw new Error(`${basename(path)} ended with ${code}`)
    },
  }
}
