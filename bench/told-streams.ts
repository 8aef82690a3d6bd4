import { createEngine, task } from 'waitpoint'
import { serve } from 'waitpoint/http'
import pDefer from 'p-defer'
import { BareEvents } from './bare/http-server.ts'
import { SECRET } from './http-client.ts'

/** A stream that is written chunk by chunk and followed over HTTP. */
export interface ToldStream {
  readonly url: string
  tell(chunk: unknown): void
  close(): Promise<void>
}

/** A stream of a run, read as server-sent events. */
export async function engineStream(): Promise<ToldStream> {
  let waiting = pDefer<unknown>()
  let isOver = false
  const tell = (chunk: unknown): void => {
    const { resolve } = waiting
    waiting = pDefer<unknown>()
    resolve(chunk)
  }
  async function* chunks(): AsyncGenerator {
    for (;;) {
      const chunk = await waiting.promise
      if (isOver) return
      yield chunk
    }
  }
  const tells = task({
    id: 'tells',
    run: async (_payload: null, { metadata }) => {
      for await (const _ of await metadata.stream('k', chunks())) continue
    },
  })
  const engine = createEngine({ tasks: [tells], secretKey: SECRET })
  const server = await serve(engine, { limits: { subscriptions: 100_000 } })
  const run = await engine.trigger(tells, null)
  return {
    url: `${server.url}/realtime/v1/streams/${run.id}/k`,
    tell,
    close: async () => {
      isOver = true
      tell(null)
      await server.close()
      await engine.close()
    },
  }
}

/** The bare form: a text written to every connection. */
export async function bareStream(): Promise<ToldStream> {
  const events = new BareEvents()
  const server = await events.listen()
  return { url: server.url, tell: (chunk) => events.tell(chunk), close: () => server.close() }
}
