import type { RunsNamespace, StreamsNamespace, TasksNamespace, WaitNamespace } from 'waitpoint'
import { type Client, type ClientOptions, createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { createTestEngine, type TestEngine, type TestEngineOptions } from 'waitpoint/testing'
import { SECRET } from '../http/requests.ts'

/** What an engine and its client have in common. */
export interface Namespaces {
  readonly wait: WaitNamespace
  readonly runs: RunsNamespace
  readonly tasks: TasksNamespace
  readonly streams: StreamsNamespace
}

/** An engine in virtual time, and a client that reaches it without a port, on the same clock. */
export interface ReachedEngine extends TestEngine {
  readonly client: Client
}

export async function reachedEngine(
  options: TestEngineOptions = {},
  clientOptions: Partial<ClientOptions> = {},
): Promise<ReachedEngine> {
  const t = await createTestEngine({ secretKey: SECRET, baseUrl: 'http://engine.test', ...options })
  const { clock } = t
  const fetch = createHandler(t.engine)
  const client = createClient({
    baseUrl: 'http://engine.test',
    accessToken: SECRET,
    fetch,
    clock,
    ...clientOptions,
  })
  return { ...t, client }
}
