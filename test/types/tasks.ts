import {
  type AnyTask,
  type BatchHandle,
  createEngine,
  type RetrievedRun,
  type RunHandle,
  type RunOutcome,
  runs,
  type SubtaskResult,
  task,
  type TaskOutput,
  type TaskPayload,
  tasks,
} from 'waitpoint'
import { z } from 'zod'
import { type Equal, exactly, holds } from './expect-type.ts'

interface Doc {
  readonly doc: string
  readonly pages?: number
}

const review = task({ id: 'review', run: async (payload: Doc) => ({ title: payload.doc, words: 7 }) })
const quiet = task({ id: 'quiet', run: () => undefined })
const nothing = task({ id: 'nothing', run: async (_payload: null) => undefined })
const optional = task({ id: 'optional', run: (payload?: Doc) => payload?.doc })
const sync = task({ id: 'sync', run: (count: number) => count > 1 })

const engine = createEngine({ tasks: [review, quiet, nothing, sync] })

// Payload and output come from `run`.
holds<Equal<TaskPayload<typeof review>, Doc>>()
holds<Equal<TaskOutput<typeof review>, { title: string; words: number }>>()
holds<Equal<TaskOutput<typeof sync>, boolean>>()
holds<Equal<TaskPayload<typeof nothing>, null>>()

export async function triggering(): Promise<void> {
  const run = await engine.trigger(review, { doc: 'd1' }, { tags: ['a'], delay: '1h' })
  exactly<RunHandle<{ title: string; words: number }>>()(run)
  const output = await run.result()
  exactly<{ title: string; words: number }>()(output)
  const outcome = await run.outcome()
  exactly<RunOutcome<{ title: string; words: number }>>()(outcome)
  if (outcome.ok) exactly<number>()(outcome.output.words)
  else outcome.error.runId satisfies string
  // @ts-expect-error There is no output without success.
  outcome.output satisfies unknown

  // @ts-expect-error A property is missing.
  await engine.trigger(review, {})
  // @ts-expect-error A property is of another type.
  await engine.trigger(review, { doc: 1 })
  // @ts-expect-error There is no such property.
  await engine.trigger(review, { doc: 'd1', page: 1 })
  // @ts-expect-error A payload is missing.
  await engine.trigger(review)
  // It may be left out where it may be undefined.
  await engine.trigger(quiet)
  await engine.trigger(optional)
  await optional.trigger()
  await optional.triggerAndWait()
  await tasks.trigger<typeof optional>('optional')
  // @ts-expect-error A payload is missing.
  await review.trigger()
  // @ts-expect-error A payload is missing.
  await tasks.trigger<typeof review>('review')
  // @ts-expect-error It is null, not undefined.
  await engine.trigger(nothing)
  // @ts-expect-error There is no such option.
  await engine.trigger(review, { doc: 'd1' }, { delayed: '1h' })
  // @ts-expect-error The payload is a number.
  await engine.trigger(sync, '1')
  // @ts-expect-error That is no task.
  await engine.trigger({ name: 'review' }, { doc: 'd1' })
}

export async function triggeringItself(): Promise<void> {
  holds<Equal<Awaited<ReturnType<typeof review.trigger>>, RunHandle<{ title: string; words: number }>>>()
  holds<Equal<Awaited<ReturnType<typeof sync.batchTrigger>>, BatchHandle<boolean>>>()
  const result = await sync.triggerAndWait(1)
  exactly<SubtaskResult<boolean>>()(result)
  if (!result.ok) result.error satisfies Error
  const unwrapped = await sync.triggerAndWait(1).unwrap()
  exactly<boolean>()(unwrapped)
  const { runs: many } = await sync.batchTriggerAndWait([{ payload: 1 }])
  exactly<readonly SubtaskResult<boolean>[]>()(many)
  // @ts-expect-error The payload is a number.
  await sync.triggerAndWait('1')
  // @ts-expect-error The payload is a number.
  await sync.batchTrigger([{ payload: 1 }, { payload: '2' }])
}

export async function triggeringById(): Promise<void> {
  const run = await tasks.trigger<typeof review>('review', { doc: 'd1' })
  exactly<RunHandle<{ title: string; words: number }>>()(run)
  const retrieved = await runs.retrieve<typeof review>(run)
  exactly<RetrievedRun<Doc, { title: string; words: number }>>()(retrieved)
  retrieved.payload.doc satisfies string
  const untyped = await runs.retrieve(run.id)
  exactly<RetrievedRun>()(untyped)
  // A handle knows the output.
  exactly<RetrievedRun<unknown, { title: string; words: number }>>()(await runs.retrieve(run))
  exactly<RetrievedRun<unknown, { title: string; words: number }>>()(await engine.runs.poll(run))
  for await (const { output } of runs.subscribeToRun(run)) output?.words satisfies number | undefined
  // Without its task an id takes any payload, and its output is not known.
  const unknown = await engine.tasks.trigger('review', { doc: 'd1' })
  exactly<RunHandle<unknown>>()(unknown)
  await tasks.batchTrigger('review', [{ payload: { doc: 'd1' } }])
  // @ts-expect-error That is the id of another task.
  await tasks.trigger<typeof review>('reviews', { doc: 'd1' })
  exactly<unknown>()(untyped.payload)
  // @ts-expect-error A property is of another type.
  await tasks.trigger<typeof review>('review', { doc: 1 })
  // @ts-expect-error The run may have no output yet.
  retrieved.output.words satisfies number
}

// A schema decides what goes in and what comes out.
const order = task({
  id: 'order',
  schema: z.object({
    count: z.string().transform((text) => text.length),
    note: z.string().default(''),
    at: z.coerce.date().optional(),
  }),
  run: async (payload) => {
    exactly<{ count: number; note: string; at?: Date | undefined }>()(payload)
    return payload.count
  },
  onSuccess: ({ payload, output }) => {
    exactly<string>()(payload.note)
    exactly<number>()(output)
  },
})
holds<Equal<TaskOutput<typeof order>, number>>()
holds<Equal<TaskPayload<typeof order>['count'], string>>()
holds<Equal<TaskPayload<typeof order>['note'], string | undefined>>()

export async function triggeringWithSchema(): Promise<void> {
  await engine.trigger(order, { count: 'three' })
  // @ts-expect-error What goes in is a string, what comes out a number.
  await engine.trigger(order, { count: 3 })
  // @ts-expect-error A property is missing.
  await order.trigger({ note: 'n' })
}

const ofNumbers = z.object({ count: z.number() })
const ofTexts = async (payload: { count: string }): Promise<string> => payload.count
// @ts-expect-error The schema makes a number of it.
task({ id: 'wrong', schema: ofNumbers, run: ofTexts })

task({
  id: 'hooks',
  run: async (payload: Doc) => payload.doc.length,
  catchError: ({ payload, error, retryDelayInMs }) => {
    exactly<Doc>()(payload)
    exactly<unknown>()(error)
    exactly<number | undefined>()(retryDelayInMs)
    return { skipRetrying: true }
  },
})

task({
  id: 'wrong hook',
  // @ts-expect-error The hook expects another output.
  run: async (payload: Doc) => payload.doc.length,
  onSuccess: ({ output }: { readonly output: string }) => output,
})

// @ts-expect-error A task has a function.
task({ id: 'empty' })

// Every task is an AnyTask, whatever it takes and gives.
const all: readonly AnyTask[] = [review, quiet, nothing, sync, order]
const generic: AnyTask = task({
  id: 'generic',
  run: async (payload: { readonly [key: string]: Doc[] }) => payload,
})
void createEngine({ tasks: [...all, generic] })
// @ts-expect-error A task has an id.
export const noTask: AnyTask = { name: 'no task' }
