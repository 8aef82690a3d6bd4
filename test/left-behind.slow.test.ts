import { describe, expect, it } from 'vitest'
import { runInChild } from './clock/child-process.ts'

/** Of each thing that was opened and has ended. Bytes are for what is large: compiled code alone makes noise of a megabyte. */
const MOST = { objects: 0.5, bytes: 4_000 }
/** Connections that are kept open for the next requests come and go. */
const MOST_OF_CONNECTIONS = { ...MOST, objects: 2 }
/** What is left behind grows with each of them; a cache that is filled, or code that is compiled, does not. */
const PARTS = 8

/** Prints a line for each thing that can be opened and each way in which it can end. */
const PROGRAM = `
  import { get, request } from 'node:http'
  import * as v8 from 'node:v8'
  import { runInNewContext } from 'node:vm'
  import { createEngine, task, wait } from './src/index.ts'
  import { createClient } from './src/client.ts'
  import { createConsole } from './src/console.ts'
  import { serve } from './src/http.ts'
  import { sqliteStorage } from './src/sqlite.ts'
  import { createTestEngine } from './src/testing.ts'
  v8.setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc')
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  async function heap() {
    // What a collection finds is told to those who wait for it, and freed by the next one: to count the objects is one.
    gc()
    await turn()
    return { objects: v8.queryObjects?.(Object) ?? 0, bytes: process.memoryUsage().heapUsed }
  }
  /** The least that one of equal parts has left behind: there are more of them for as long as each leaves too much. */
  async function measure(name, { times, at = 25 }, use) {
    const most = /^(client|HTTP|engine)/.test(name) ? ${JSON.stringify(MOST_OF_CONNECTIONS)} : ${JSON.stringify(MOST)}
    const repeat = async () => {
      for (let done = 0; done < times; done += at) await Promise.all(Array.from({ length: at }, use))
      return heap()
    }
    let before = await repeat()
    const kept = { objects: Infinity, bytes: Infinity }
    for (let part = 0; part < ${PARTS} && (kept.objects >= most.objects || kept.bytes >= most.bytes); part++) {
      const after = await repeat()
      for (const unit of ['objects', 'bytes']) kept[unit] = Math.min(kept[unit], (after[unit] - before[unit]) / times)
      before = after
    }
    console.log(JSON.stringify({ name, most, ...kept }))
  }

  const parked = task({ id: 'parked', run: async (tokenId, { metadata }) => {
    await metadata.stream('k', (async function* () { yield 1; yield 2 })())
    if (tokenId !== null) await wait.forToken(tokenId)
    return 'done'
  } })
  const engine = createEngine({ tasks: [parked], secretKey: 'k' })
  const server = await serve(engine)
  const client = createClient({ baseUrl: server.url, accessToken: 'k' })
  const token = await engine.wait.createToken({ tags: 't', timeout: '1d' })
  const ended = (await engine.trigger(parked, null)).id
  await engine.runs.poll(ended)
  const open = (await engine.trigger(parked, token.id)).id
  while (!(await engine.runs.retrieve(open)).isWaiting) await turn()

  const readers = (of) => ({
    subscribeToRun: (id, options) => of.runs.subscribeToRun(id, options),
    'withStreams()': (id, options) => of.runs.subscribeToRun(id, options).withStreams(),
    'streams.read': (id, options) => of.streams.read(id, 'k', options),
  })
  const ends = {
    'read to the end': async (read) => { for await (const item of read(ended)) void item },
    'left by break': async (read) => { for await (const item of read(open)) { void item; break } },
    'left by an error': async (read) => {
      try { for await (const item of read(open)) throw new Error(String(item)) } catch { /* It is left. */ }
    },
    'left while it waits': async (read) => {
      const iterator = read(open)[Symbol.asyncIterator]()
      await iterator.next()
      const [, left] = [iterator.next().catch(() => undefined), iterator.return()]
      await left
    },
    'left before it began': async (read) => { await read(open)[Symbol.asyncIterator]().return() },
    dropped: async (read) => { await read(open)[Symbol.asyncIterator]().next() },
  }
  const aborted = async (read) => {
    const controller = new AbortController()
    try { for await (const item of read(open, { signal: controller.signal })) controller.abort(item) } catch { /* Its reason. */ }
  }
  for (const [name, read] of Object.entries(readers(engine)))
    for (const [end, use] of Object.entries(ends)) await measure(name + ', ' + end, { times: 100 }, () => use(read))
  const tokens = () => engine.wait.subscribeToTokens({ tags: 't' })
  for (const end of Object.keys(ends).slice(1)) await measure('subscribeToTokens, ' + end, { times: 100 }, () => ends[end](tokens))
  const oneToken = await engine.wait.createToken({ timeout: '30d' })
  const followed = () => engine.wait.subscribeToToken(oneToken)
  for (const end of Object.keys(ends).slice(1)) await measure('subscribeToToken, ' + end, { times: 100 }, () => ends[end](followed))
  await measure('poll, answered', { times: 100 }, () => engine.runs.poll(ended))

  await measure('client: retrieve', { times: 200, at: 20 }, () => client.runs.retrieve(ended))
  const remote = readers(client)['withStreams()']
  for (const end of ['read to the end', 'left by break'])
    await measure('client: withStreams(), ' + end, { times: 50, at: 10 }, () => ends[end](remote))
  await measure('client: withStreams(), aborted by a signal', { times: 50, at: 10 }, () => aborted(remote))
  await measure('client: poll, aborted', { times: 50, at: 10 }, async () => {
    const controller = new AbortController()
    const polled = client.runs.poll(open, { signal: controller.signal }).catch(() => undefined)
    await turn()
    controller.abort(new Error('enough'))
    await polled
  })
  const streamed = '/realtime/v1/streams/' + open + '/k'
  const events = '/api/v1/runs/' + open + '/stream'
  /** A page that is closed: its connection is cut in the middle of an answer. */
  const cut = (path) => new Promise((resolve) => {
    const request = get(server.url + path, { agent: false, headers: { authorization: 'Bearer k' } }, (response) => {
      response.once('data', () => request.destroy())
    })
    request.on('error', () => undefined).on('close', resolve)
  })
  for (const path of [streamed, events])
    await measure('HTTP: cut, ' + path.replace(open, 'run'), { times: 100, at: 10 }, () => cut(path))
  const completion = '/api/v1/waitpoints/tokens/' + token.id + '/complete'
  await measure('HTTP: the body of a completion, cut', { times: 100, at: 10 }, () => new Promise((resolve) => {
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json', 'content-length': '100' }
    const sent = request(server.url + completion, { method: 'POST', agent: false, headers })
    sent.on('error', () => undefined).on('close', resolve)
    sent.write('{"data":', () => sent.destroy())
  }))
  if ((await engine.wait.retrieveToken(token)).status !== 'WAITING') throw new Error('A body that was cut completed its token')
  const page = createConsole(engine, { authorize: () => true })
  await measure('HTTP: console events, cut', { times: 100, at: 10 }, async () => {
    const gone = new AbortController()
    const answer = await page(new Request('http://localhost/console/events', { signal: gone.signal }))
    const reader = answer.body.getReader()
    await reader.read()
    await reader.cancel()
    gone.abort()
  })
  await server.close()
  await engine.close()

  await measure('engine: closed', { times: 40, at: 10 }, async () => {
    const one = createEngine({ tasks: [parked] })
    await (await one.trigger(parked, null)).result()
    await one.close()
  })
  // Node has SQLite built in from 22.13 on.
  if (process.getBuiltinModule?.('node:sqlite') !== undefined)
    await measure('engine: on SQLite', { times: 40, at: 10 }, async () => {
      const one = createEngine({ tasks: [parked], storage: sqliteStorage(':memory:') })
      await (await one.trigger(parked, null)).result()
      await one.close()
    })
  const listens = task({ id: 'listens', run: async ({ id, isLeft }) => {
    const signal = await wait.signal(id)
    if (!isLeft) await wait.forToken(id, { signal })
  } })
  for (const isLeft of [true, false])
    await measure('engine: closed ' + (isLeft ? 'after a run left' : 'under') + ' wait.signal', { times: 40, at: 10 }, async () => {
      const one = createEngine({ tasks: [listens] })
      const { id } = await one.wait.createToken({ timeout: '1d' })
      const run = await one.trigger(listens, { id, isLeft })
      if (isLeft) await run.result()
      else while (!(await one.runs.retrieve(run.id)).isWaiting) await turn()
      await one.close()
    })
  for (const name of Object.keys(readers(engine)))
    await measure('engine: closed under ' + name, { times: 40, at: 10 }, async () => {
      const one = createEngine({ tasks: [parked] })
      const { id } = await one.trigger(parked, (await one.wait.createToken({ timeout: '1d' })).id)
      const iterator = readers(one)[name](id)[Symbol.asyncIterator]()
      await iterator.next()
      const rest = (async () => { while (!(await iterator.next()).done); })().catch(() => undefined)
      await one.close()
      await rest
    })
  await measure('engine: closed under result()', { times: 40, at: 10 }, async () => {
    const one = createEngine({ tasks: [parked] })
    const run = await one.trigger(parked, (await one.wait.createToken({ timeout: '1d' })).id)
    const result = run.result().catch(() => undefined)
    await one.close()
    await result
  })
  await measure('engine: of a test', { times: 40, at: 10 }, async () => {
    const t = await createTestEngine({ tasks: [parked] })
    await (await t.engine.trigger(parked, null)).result()
    await t.close()
  })
`

interface Kept {
  readonly name: string
  readonly most: typeof MOST
  readonly objects: number
  readonly bytes: number
}

describe('what is left behind', () => {
  it('is nothing, of readers, connections and engines that have ended in whatever way', async () => {
    const lines = (await runInChild(PROGRAM)).trim().split('\n')
    const all = lines.map((line) => JSON.parse(line) as Kept)
    const growing = all.filter(({ most, objects, bytes }) => objects >= most.objects || bytes >= most.bytes)
    expect(growing).toEqual([])
    expect(all.length).toBeGreaterThan(35)
  })
})
