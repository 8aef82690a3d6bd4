import type { Approvals, Draft, Review, Verdict } from '../bare/approvals.ts'
import { turn } from '../turn.ts'
import { FirstPass } from './first-pass.ts'
import { importPeer } from './installed.ts'
import type { Peer } from './peer.ts'

/** An effect, a layer or a schema: an opaque value passed from one call to the next. */
type Opaque = { readonly pipe: (...steps: unknown[]) => Opaque }
/** In a generator, `yield*` returns the result of an effect. */
type Effectful<Output> = Opaque & { [Symbol.iterator](): Iterator<unknown, Output> }

interface EffectModule {
  readonly Effect: { gen<Output>(body: () => Generator<unknown, Output>): Effectful<Output> }
  readonly Layer: { provideMerge(layer: Opaque): unknown }
  readonly ManagedRuntime: {
    make(layer: Opaque): {
      runPromise<Output>(effect: Effectful<Output>): Promise<Output>
      dispose(): Promise<void>
    }
  }
  readonly Schema: {
    readonly String: Opaque
    readonly Boolean: Opaque
    Struct(fields: Readonly<Record<string, Opaque>>): Opaque
  }
}

type Payload = Draft & { readonly id: string }
interface Workflow {
  execute(payload: Payload): Effectful<Review>
  toLayer(execute: (payload: Payload) => Effectful<Review>): Opaque
}

interface WorkflowModule {
  readonly Workflow: { make(tag: string, options: object): Workflow }
  readonly WorkflowEngine: { readonly layerMemory: Opaque }
  readonly DurableDeferred: {
    make(name: string, options: object): Opaque
    token(deferred: Opaque): Effectful<string>
    await(deferred: Opaque): Effectful<Verdict>
    succeed(
      deferred: Opaque,
      options: { readonly token: string; readonly value: Verdict },
    ): Effectful<unknown>
  }
}

/** Effect's workflow engine, in memory. */
export const effect: Peer = {
  name: 'Effect, in memory',
  packageName: 'effect',
  place: 'memory',
  leastNode: 20,
  async open() {
    const { Effect, Layer, ManagedRuntime, Schema } = await importPeer<EffectModule>('effect')
    const { Workflow, WorkflowEngine, DurableDeferred } = await importPeer<WorkflowModule>('effect/workflow')
    const firstPass = new FirstPass()
    const review = Workflow.make('Review', {
      payload: { id: Schema.String, doc: Schema.String },
      success: Schema.Struct({ doc: Schema.String, approved: Schema.Boolean }),
      idempotencyKey: ({ id }: Payload) => id,
    })
    const verdict = DurableDeferred.make('verdict', { success: Schema.Struct({ approved: Schema.Boolean }) })
    const layer = review.toLayer(({ id, doc }) =>
      Effect.gen(function* () {
        firstPass.say(id, yield* DurableDeferred.token(verdict))
        const { approved } = yield* DurableDeferred.await(verdict)
        firstPass.forget(id)
        return { doc, approved }
      }),
    )
    const runtime = ManagedRuntime.make(layer.pipe(Layer.provideMerge(WorkflowEngine.layerMemory)))
    let runs = 0
    return {
      trigger: async (draft) => {
        const result = runtime.runPromise(review.execute({ id: String((runs += 1)), ...draft }))
        return { result: () => result }
      },
      complete: (token, value) => runtime.runPromise(DurableDeferred.succeed(verdict, { token, value })),
      asked: () => firstPass.next(),
      parked: turn,
      close: () => runtime.dispose(),
    } satisfies Approvals
  },
}
