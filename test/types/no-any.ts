import type * as waitpoint from 'waitpoint'
import type * as client from 'waitpoint/client'
import type * as react from 'waitpoint/react'
import type * as testing from 'waitpoint/testing'
import type * as vitest from 'waitpoint/vitest'
import { type HasAny, holds, holdsNot, type IsAny } from './expect-type.ts'

/* eslint-disable @typescript-eslint/no-explicit-any -- The check has to find one wherever it hides. */
holds<IsAny<any>>()
holds<HasAny<{ readonly deep: { readonly list: readonly any[] } }>>()
holds<HasAny<(parameter: any) => void>>()
holds<HasAny<() => any>>()
holds<HasAny<() => Promise<{ readonly output: any }>>>()
holds<HasAny<Promise<string> & { unwrap(): any }>>()
holds<HasAny<() => AsyncIterable<any>>>()
holds<HasAny<string | { readonly one: any }>>()
/* eslint-enable */
holdsNot<
  HasAny<{ readonly list: readonly unknown[]; readonly never: never; at?: Date; promise: Promise<void> }>
>()

// Values.
type Values = typeof waitpoint
type Leaks<Module> = {
  [Name in keyof Module]: HasAny<Module[Name]> extends false ? never : Name
}[keyof Module]
holds<[Leaks<Values>] extends [never] ? true : Leaks<Values>>()
holds<[Leaks<typeof client>] extends [never] ? true : Leaks<typeof client>>()
type HooksOfPages = Omit<typeof react, 'WaitpointProvider'>
holds<[Leaks<HooksOfPages>] extends [never] ? true : Leaks<HooksOfPages>>()
holds<[Leaks<typeof testing>] extends [never] ? true : Leaks<typeof testing>>()
holds<[Leaks<typeof vitest>] extends [never] ? true : Leaks<typeof vitest>>()

// Types, the generic ones with something to see.
interface Payload {
  readonly doc: string
}
type STREAMS = { readonly draft: string }
type Task = waitpoint.Task<Payload, number>

interface Types {
  batchHandle: waitpoint.BatchHandle<number>
  batchItem: waitpoint.BatchItem<Payload>
  clock: waitpoint.Clock
  closeOptions: waitpoint.CloseOptions
  createdToken: waitpoint.CreatedToken
  createTokenOptions: waitpoint.CreateTokenOptions
  definedStream: waitpoint.DefinedStream<string>
  engine: waitpoint.Engine
  engineErrorEvent: waitpoint.EngineErrorEvent
  engineEvents: waitpoint.EngineEvents
  engineOptions: waitpoint.EngineOptions
  engineStats: waitpoint.EngineStats
  forTokenOptions: waitpoint.ForTokenOptions
  hookContext: waitpoint.HookContext<Payload>
  listRunsParams: waitpoint.ListRunsParams
  listTokensParams: waitpoint.ListTokensParams
  metadata: waitpoint.MetadataNamespace
  page: waitpoint.CursorPage<waitpoint.Token>
  pagePromise: waitpoint.CursorPagePromise<waitpoint.Token>
  pipedStream: waitpoint.PipedStream<string>
  retrievedRun: waitpoint.RetrievedRun
  retrievedToken: waitpoint.RetrievedToken<number>
  retryDecision: waitpoint.RetryDecision
  run: waitpoint.Run
  runContext: waitpoint.RunContext
  runHandle: waitpoint.RunHandle<number>
  runOutcome: waitpoint.RunOutcome<number>
  runs: waitpoint.RunsNamespace
  runSubscription: waitpoint.RunSubscription
  runTools: waitpoint.RunTools
  schemaOptions: waitpoint.SchemaTaskOptions<waitpoint.StandardSchemaV1<Payload>, number>
  storage: waitpoint.Storage
  streams: waitpoint.StreamsNamespace
  subscriptionPart: waitpoint.SubscriptionPart<STREAMS>
  subtask: waitpoint.SubtaskPromise<number>
  task: Task
  taskOptions: waitpoint.TaskOptions<Payload, number>
  tasks: waitpoint.TasksNamespace
  triggerOptions: waitpoint.TriggerOptions
  wait: waitpoint.WaitNamespace
  waitPromise: waitpoint.WaitPromise<number>
  waitResult: waitpoint.WaitResult<number>
  client: client.Client
  clientOptions: client.ClientOptions
  remoteRun: client.RemoteRunHandle<number>
  testEngine: testing.TestEngine
  testClock: testing.TestClock
}
holds<[Leaks<Types>] extends [never] ? true : Leaks<Types>>()

// What is inferred of a task.
holdsNot<HasAny<waitpoint.TaskPayload<Task>>>()
holdsNot<HasAny<waitpoint.TaskOutput<Task>>>()
holdsNot<HasAny<waitpoint.TaskPayload<waitpoint.AnyTask>>>()
holdsNot<HasAny<waitpoint.TaskOutput<waitpoint.AnyTask>>>()
