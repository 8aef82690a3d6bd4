import { createEngine, type Engine } from 'waitpoint'
import { serve } from 'waitpoint/http'
import { serveBareCompletions } from '../bare/http-server.ts'
import type { Contest, Contestant } from '../contest.ts'
import { type EventSubscriber, HttpClient, SECRET } from '../http-client.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { bareStream, engineStream, type ToldStream } from '../told-streams.ts'
import { turn } from '../turn.ts'

const CONNECTIONS = 8
const SUBSCRIBERS = 1_000

const completions: Contest<'ours' | 'bare'> = {
  name: 'token completed over HTTP',
  count: 2_000,
  rounds: 10,
  warmUps: 3,
  sides: { ours: completeOurs, bare: completeBare },
}
const firstChunks: Contest<'ours' | 'bare'> = {
  name: 'chunk → subscriber over HTTP',
  count: 200,
  rounds: 10,
  warmUps: 3,
  sides: {
    ours: async (count) => chunksOneByOne(await engineStream(), count),
    bare: async (count) => chunksOneByOne(await bareStream(), count),
  },
}
const crowds: Contest<'ours' | 'bare'> = {
  name: 'chunk → each of 1,000 subscribers',
  count: SUBSCRIBERS,
  rounds: 10,
  warmUps: 2,
  sides: {
    ours: async (count) => chunkForAll(await engineStream(), count),
    bare: async (count) => chunkForAll(await bareStream(), count),
  },
}

/** Over loopback, with the client in the same process: completions, and chunks to one and to many subscribers. */
export const http: Figure = {
  name: 'http',
  contests: [completions, firstChunks, crowds],
  async measure(lab) {
    return [
      {
        what: completions.name,
        unit: 'ns',
        count: lab.count(completions.count),
        ...(await lab.hold(completions)),
        goal: { kind: 'ratio', most: 1 / 0.6 },
      },
      {
        what: firstChunks.name,
        unit: 'ns',
        count: lab.count(firstChunks.count),
        ...(await lab.hold(firstChunks)),
      },
      { what: crowds.name, unit: 'ns', count: lab.count(SUBSCRIBERS), ...(await lab.hold(crowds)) },
      await memoryOfSubscribers(lab),
    ]
  },
}

async function completeOurs(count: number): Promise<Contestant> {
  const engine = createEngine({ secretKey: SECRET })
  const server = await serve(engine)
  return completing({
    url: server.url,
    newTokens: () => tokensOf(engine, count),
    close: async () => {
      await server.close()
      await engine.close()
    },
  })
}

async function completeBare(count: number): Promise<Contestant> {
  const server = await serveBareCompletions(SECRET)
  const newTokens = (): string[] => Array.from({ length: count }, (_, index) => `waitpoint_${index}`)
  return completing({ url: server.url, newTokens, close: () => server.close() })
}

async function tokensOf(engine: Engine, count: number): Promise<string[]> {
  const tokens: string[] = []
  while (tokens.length < count) tokens.push((await engine.wait.createToken()).id)
  return tokens
}

interface CompletedServer {
  readonly url: string
  readonly newTokens: () => string[] | Promise<string[]>
  readonly close: () => Promise<void>
}

/** Several clients, each sending one request after the other. */
function completing({ url, newTokens, close }: CompletedServer): Contestant {
  const client = new HttpClient(CONNECTIONS)
  const body = JSON.stringify({ output: { approved: true, by: 'somebody' } })
  let tokens: string[] = []
  const work = async (): Promise<void> => {
    for (let id = tokens.pop(); id !== undefined; id = tokens.pop()) {
      const answer = await client.post(`${url}/api/v1/waitpoints/tokens/${id}/complete`, body)
      if (!answer.includes('COMPLETED')) throw new Error(`Cannot complete: ${answer}`)
    }
  }
  return {
    before: async () => void (tokens = await newTokens()),
    pass: () => Promise.all(Array.from({ length: CONNECTIONS }, work)),
    close: async () => {
      client.close()
      await close()
    },
  }
}

const CHUNK = { type: 'text-delta', text: 'a few words of a model' }

/** From a chunk to the waiting subscriber, repeated. */
async function chunksOneByOne(stream: ToldStream, count: number): Promise<Contestant> {
  const client = new HttpClient()
  const subscriber = await client.subscribe(stream.url)
  let told = 0
  return {
    pass: async () => {
      for (let left = count; left > 0; left--) {
        stream.tell(CHUNK)
        await subscriber.received((told += 1))
      }
    },
    close: () => closeAll(stream, client, [subscriber]),
  }
}

/** From one chunk to the last of many subscribers. */
async function chunkForAll(stream: ToldStream, count: number): Promise<Contestant> {
  const client = new HttpClient()
  const subscribers = await subscribeAll(stream, client, count)
  let told = 0
  return {
    pass: () => {
      stream.tell(CHUNK)
      told += 1
      return Promise.all(subscribers.map((subscriber) => subscriber.received(told)))
    },
    close: () => closeAll(stream, client, subscribers),
  }
}

async function memoryOfSubscribers(lab: Lab): Promise<Measurement> {
  const count = lab.count(SUBSCRIBERS)
  const ours = await heapOf(await engineStream(), count)
  const bare = await heapOf(await bareStream(), count)
  const what = 'heap of an open subscription, client and all'
  return { what, unit: 'bytes', count, ours: { values: [ours] }, bare: { values: [bare] } }
}

/** The heap of one open subscription, both ends of its connection included. */
async function heapOf(stream: ToldStream, count: number): Promise<number> {
  const client = new HttpClient()
  const before = await usedHeap()
  const subscribers = await subscribeAll(stream, client, count)
  stream.tell(CHUNK)
  await Promise.all(subscribers.map((subscriber) => subscriber.received(1)))
  const bytes = ((await usedHeap()) - before) / count
  await closeAll(stream, client, subscribers)
  return bytes
}

async function usedHeap(): Promise<number> {
  for (let turns = 0; turns < 3; turns++) {
    await turn()
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}

function subscribeAll({ url }: ToldStream, client: HttpClient, count: number): Promise<EventSubscriber[]> {
  return Promise.all(Array.from({ length: count }, () => client.subscribe(url)))
}

async function closeAll(
  stream: ToldStream,
  client: HttpClient,
  subscribers: readonly EventSubscriber[],
): Promise<void> {
  for (const subscriber of subscribers) subscriber.close()
  client.close()
  await stream.close()
}
