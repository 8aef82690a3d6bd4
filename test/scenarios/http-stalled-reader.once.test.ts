import { describe, expect, it } from 'vitest'
import { runInChild } from '../clock/child-process.ts'

const CHUNKS = 1_000_000
const LOOK_EVERY = 100_000
const MIB = 1_024 * 1_024

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** Where Node has SQLite built in, everything is kept on a disk; without a disk the newest is kept. */
const STORAGES: Readonly<Record<string, string>> = {
  memory: 'memoryStorage()',
  ...(major > 22 || (major === 22 && minor >= 13)
    ? { sqlite: 'sqliteStorage(join(folder, "stalled.db"))' }
    : {}),
}

interface Outcome {
  /** The most that was held, after a collection, while the reader stood still; over what was held before. */
  readonly grown: number
  /** The growth of resident memory. */
  readonly grownResident: number
  /** What is still held once it has read the rest: reader and server are in one process, and both make garbage. */
  readonly keptAtEnd: number
  readonly received: number
  readonly isContiguous: boolean
  /** The code of the error at the end, if there was one. */
  readonly error?: string
}

/** What a server, and a client of it that stops reading, come to in a process of their own. */
const program = (storage: string): string => `
  import { mkdtempSync, rmSync } from 'node:fs'
  import { get } from 'node:http'
  import { tmpdir } from 'node:os'
  import { join } from 'node:path'
  import { once } from 'node:events'
  import { setFlagsFromString } from 'node:v8'
  import { runInNewContext } from 'node:vm'
  import { createEngine, memoryStorage, task } from './src/index.ts'
  import { serve } from './src/http.ts'
  import { sqliteStorage } from './src/sqlite.ts'

  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const held = () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  let most = 0
  let mostResident = 0
  const look = () => {
    most = Math.max(most, held())
    mostResident = Math.max(mostResident, process.memoryUsage.rss())
  }
  const folder = mkdtempSync(join(tmpdir(), 'waitpoint-'))
  const text = 'x'.repeat(98)
  let begin
  const isFollowed = new Promise((resolve) => (begin = resolve))
  const produce = task({
    id: 'produce',
    run: async ({ count, after }, { streams }) => {
      if (after === 'isFollowed') await isFollowed
      let left = count
      const next = async () => {
        if (left % ${LOOK_EVERY} === 0) look()
        return left-- > 0 ? { done: false, value: text } : { done: true, value: undefined }
      }
      await streams.pipe('k', { [Symbol.asyncIterator]: () => ({ next }) }).waitUntilComplete()
    },
  })
  const engine = createEngine({ tasks: [produce], secretKey: 'sk', storage: ${storage} })
  const server = await serve(engine)
  // The heap has the size that the producer alone needs before it counts.
  await (await engine.trigger(produce, { count: ${CHUNKS / 4} })).result()
  const heldBefore = held()
  const residentBefore = process.memoryUsage.rss()
  most = mostResident = 0

  const run = await engine.trigger(produce, { count: ${CHUNKS}, after: 'isFollowed' })
  const asked = get(server.url + '/realtime/v1/streams/' + run.id + '/k', { headers: { authorization: 'Bearer sk' } })
  const [response] = await once(asked, 'response')
  begin()
  await run.result()
  look()
  const grown = most - heldBefore
  const grownResident = mostResident - residentBefore

  let received = 0
  let isContiguous = true
  let error
  let rest = ''
  for await (const piece of response.setEncoding('utf8')) {
    const events = (rest + piece).split('\\n\\n')
    rest = events.pop()
    for (const event of events) {
      const [, id] = /^id: (\\d+)\\ndata: "x/.exec(event) ?? []
      if (id !== undefined) isContiguous &&= Number(id) === received++
      error ??= /^event: error\\n[^]*"code":"(\\w+)"/.exec(event)?.[1]
    }
  }
  const keptAtEnd = held() - heldBefore
  await server.close()
  await engine.close()
  rmSync(folder, { recursive: true, force: true })
  console.log(JSON.stringify({ grown, grownResident, keptAtEnd, received, isContiguous, error }))
`

describe('a subscriber that stops reading its connection', () => {
  it.each(Object.entries(STORAGES))(
    'costs at most 64 MiB while a million chunks are produced, and gets all or is told, on %s',
    async (name, storage) => {
      const outcome = JSON.parse(await runInChild(program(storage), 570_000)) as Outcome
      expect(outcome.grown).toBeLessThan(64 * MIB)
      expect(outcome.grownResident).toBeLessThan(64 * MIB)
      expect(outcome.keptAtEnd).toBeLessThan(64 * MIB)
      expect(outcome).toMatchObject({
        isContiguous: true,
        ...(name === 'memory' ? { error: 'ERR_STREAM_LAGGED' } : { received: CHUNKS }),
      })
    },
    600_000,
  )
})
