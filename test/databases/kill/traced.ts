/*
 * One life of a process that is traced: `traced <database> <spans> ask|answer`. In `ask` it triggers a run, prints the id of
 * the token that the run waits for, and waits until it is killed; in `answer` it completes what waits, and ends with the run.
 * Each span is appended to the file when it ends.
 */
import { appendFileSync } from 'node:fs'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { createTelemetry } from 'waitpoint/otel'
import { sqliteStorage } from 'waitpoint/sqlite'
import { openDriver } from '../drivers.ts'
import { endWithParent } from './life.ts'

const [database = '', file = '', mode = 'ask'] = process.argv.slice(2)

const print = task({ id: 'print', run: async (text: string) => `printed ${text}` })
const review = task({
  id: 'review',
  run: async () => {
    const answer = await wait.forToken<string>(await wait.createToken({ timeout: '1d' })).unwrap()
    return print.triggerAndWait(answer).unwrap()
  },
})

endWithParent()
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const exporter = {
  export: (spans: ReadableSpan[], done: (result: { code: number }) => void): void => {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext()
      const parentId = span.parentSpanContext?.spanId
      appendFileSync(file, `${JSON.stringify({ name: span.name, traceId, spanId, parentId })}\n`)
    }
    done({ code: 0 })
  },
  shutdown: () => Promise.resolve(),
}
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const telemetry = createTelemetry({ tracerProvider, propagator: new W3CTraceContextPropagator() })
const engine = createEngine({ tasks: [review, print], storage: sqliteStorage(openDriver(database)) })

await (mode === 'ask' ? ask() : answer(engine))

async function ask(): Promise<void> {
  const run = await tracerProvider.getTracer('app').startActiveSpan('request', async (span) => {
    const triggered = await engine.trigger(review, undefined)
    span.end()
    return triggered
  })
  for await (const { isWaiting } of engine.runs.subscribeToRun(run)) if (isWaiting) break
  const { data } = await engine.wait.listTokens({ status: 'WAITING' })
  console.log(data[0]?.id)
}

async function answer({ wait: tokens, runs }: Engine): Promise<void> {
  const { data } = await runs.list({ taskIdentifier: 'review' })
  const [waiting] = (await tokens.listTokens({ status: 'WAITING' })).data
  await tokens.completeToken(waiting!, 'fine')
  for await (const { isCompleted } of runs.subscribeToRun(data[0]!)) if (isCompleted) break
  console.log(JSON.stringify((await runs.retrieve(data[0]!)).output))
  await engine.close()
  telemetry.close()
  // It listens for the end of its parent.
  process.exit()
}
