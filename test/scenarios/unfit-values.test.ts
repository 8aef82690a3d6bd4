import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { metadata, once, streams, task, wait } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { rejection } from '../support/body-task.ts'

class Account {
  readonly #balance = 5
  get balance(): number {
    return this.#balance
  }
}

const VALUES: Readonly<Record<string, () => unknown>> = {
  Response: () => new Response('the body'),
  Headers: () => new Headers({ a: 'b' }),
  URLSearchParams: () => new URLSearchParams('a=1'),
  FormData: () => new FormData(),
  Blob: () => new Blob(['x']),
  ReadableStream: () => new ReadableStream(),
  Generator: () => [1].values(),
  Account: () => new Account(),
  Map: () => new Map([[1, 2]]),
}

type Held = Readonly<Record<'value', unknown>>

/** Each way into a storage. What a run does is the error that its task sees. */
const PLACES: Readonly<Record<string, (t: TestEngine, held: Held) => Promise<unknown>>> = {
  'a payload': ({ engine }, held) => engine.trigger(echo, held),
  'a payload of a batch': ({ engine }, held) => engine.tasks.batchTrigger('echo', [{ payload: held }]),
  'the metadata of a trigger': ({ engine }, held) => engine.trigger(echo, null, { metadata: { ...held } }),
  'the output of a token': async ({ engine }, held) =>
    engine.wait.completeToken(await engine.wait.createToken(), held),
  'the output of a run': (t, held) => inRun(t, () => held),
  'the result of once': (t, held) => inRun(t, () => once('effect', () => held)),
  'the payload of a child': (t, held) => inRun(t, () => echo.triggerAndWait(held)),
  'metadata.set': (t, held) => inRun(t, () => metadata.set('key', held)),
  'metadata.append': (t, held) => inRun(t, () => metadata.append('key', held)),
  'the output of a token in a run': (t, held) =>
    inRun(t, async () => wait.completeToken(await wait.createToken(), held)),
  'a chunk': (t, held) => inRun(t, () => streams.append('key', held)),
  'a chunk of a source': (t, held) =>
    inRun(t, () => streams.pipe('key', Readable.from([held])).waitUntilComplete()),
  'a payload of a client': (_, held) => client.tasks.trigger('echo', held),
  'the output of a token of a client': (_, held) => client.wait.completeToken('waitpoint_1', held),
}

/** It does not get as far as a request. */
const client = createClient({ baseUrl: 'http://waitpoint.invalid', accessToken: 'sk_1' })

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
let act: () => unknown = () => undefined
const acting = task({ id: 'acting', run: async () => act() })

async function inRun({ engine }: TestEngine, what: () => unknown): Promise<unknown> {
  act = what
  return (await engine.trigger(acting)).result()
}

/** The messages of an error and its causes. */
function messagesOf(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${messagesOf(error.cause)}` : ''
}

describe.each(Object.keys(PLACES))('%s', (place) => {
  it.each(Object.keys(VALUES))('is not a %s, of which JSON would make {}', async (name) => {
    await using t = await createTestEngine({ tasks: [echo, acting] })
    t.engine.on('error', () => undefined)
    const error = await rejection(PLACES[place]?.(t, { value: VALUES[name]?.() }) ?? Promise.resolve())
    expect(messagesOf(error)).toMatch(/\$(?:\[0\])?\.value is not JSON: of type /)
  })
})
