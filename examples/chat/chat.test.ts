import { beforeEach, describe, expect } from 'vitest'
import type { Engine, RunReference } from 'waitpoint'
import { taskTest } from 'waitpoint/vitest'
import { chatTask, messages, type Said, said } from './chat.ts'
import { chatPages } from './pages.ts'

const asked: string[] = []
beforeEach(() => void asked.splice(0))

/** Says a word, and "long" ones until it is stopped. */
async function* talk(message: string, signal: AbortSignal): AsyncGenerator<string> {
  asked.push(message)
  yield `${message}!`
  if (message === 'long' && !signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

const chat = chatTask(talk)
const chatTest = taskTest.with({ tasks: [chat], alwaysResume: true })

async function send(engine: Engine, run: RunReference, text: string): Promise<void> {
  await engine.streams.input<string>({ id: messages.id }).send(run, text)
}

async function saidIn(engine: Engine, run: RunReference): Promise<readonly string[]> {
  const pieces: string[] = []
  const read = engine.streams.read<Said>(run, said.id, { attempts: 'last' })
  for await (const { by, text } of read) pieces.push(`${by}: ${text}`)
  return pieces
}

describe('a conversation', () => {
  chatTest('has an answer for each message, in order, and asks the model once for each', async ({ t }) => {
    const run = await t.engine.trigger(chat, null)
    await send(t.engine, run, 'one')
    await send(t.engine, run, 'two')
    await t.clock.advance('1h')
    await send(t.engine, run, 'three')
    expect(await run.result()).toBe('3 answers')
    expect(asked).toEqual(['one', 'two', 'three'])
    const answers = asked.flatMap((text) => [`you: ${text}`, `model: ${text}!`])
    expect(await saidIn(t.engine, run)).toEqual(answers)
  })
})

describe('the page', () => {
  chatTest('sends a form once, shows what is said, stops an answer, and kills its process', async ({ t }) => {
    let kills = 0
    const app = chatPages(t.engine, { chat, kill: () => (kills += 1) })
    const post = async (path: string, fields: Record<string, string> = {}): Promise<number> => {
      const body = new URLSearchParams(fields)
      return (await app.request(path, { method: 'POST', body })).status
    }
    const long = { text: 'long', key: '00000000-0000-4000-8000-000000000000' }
    expect(await post('/messages', { text: ' ', key: long.key })).toBe(400)
    expect([await post('/messages', long), await post('/messages', long)]).toEqual([204, 204])
    const isAnswering = async (): Promise<boolean> =>
      (await t.engine.wait.listTokens({ tags: 'stop' })).data.length > 0
    while (!(await isAnswering())) await new Promise(setImmediate)
    expect(await post('/stop')).toBe(204)

    const [run] = (await t.engine.runs.list()).data
    expect(await t.engine.runs.poll(run!.id)).toMatchObject({ output: '1 answers' })
    expect(await saidIn(t.engine, run!)).toEqual(['you: long', 'model: long!'])
    expect(asked).toEqual(['long'])
    expect((await t.engine.runs.list()).data).toHaveLength(1)
    expect(await (await app.request('/')).text()).toContain('Kill the process')
    await post('/kill')
    await new Promise(setImmediate)
    expect(kills).toBe(1)
  })
})
