import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine, type TestEngine, testClock } from 'waitpoint/testing'
import { inNextTurn } from '../../src/clock/macrotask-turn.ts'
import { MOST_CHARACTERS, mostOf, VALUES, valueOf } from '../support/many-parts.ts'
import { countTurnWork } from '../support/turn-work.ts'
import { turnsByTheQuestion } from '../support/turns-by-the-question.ts'
import { KEY, Visitor } from './visitor.ts'

/** Steps of {@link countTurnWork} between two turns: an answer with as many parts as it may have is one million. */
const MOST_STEPS = 1_500_000

const quiet = task({ id: 'quiet', run: () => undefined })

/** A form that takes JSON: where it is sent to, and the name of its field. */
type TypedForm = (engine: TestEngine['engine']) => Promise<readonly [path: string, field: string]>

const FORMS: Readonly<Record<string, TypedForm>> = {
  'the answer of a token': async ({ wait }) => [
    `/tokens/${(await wait.createToken()).id}/complete`,
    'output',
  ],
  'the answer of a question': async ({ wait }) => [
    `/tokens/${(await wait.createToken({ message: 'What?' })).id}/complete`,
    'answer',
  ],
  'an answer that a schema checks': async ({ wait }) => [
    `/tokens/${(await wait.createToken({ schema: { maxItems: 1_000_000 } })).id}/complete`,
    'answer',
  ],
  'an answer in the inbox': async ({ wait }) => [
    `/inbox/${(await wait.createToken({ message: 'What?' })).id}/answer`,
    'answer',
  ],
  'a new run of a task': async () => ['/tasks?task=quiet', 'payload'],
  'a run like another one': async (engine) => [
    `/runs/${(await engine.trigger(quiet, null)).id}/trigger`,
    'payload',
  ],
}

/** As large as any that is taken, one with more parts than are taken, and one that is broken. */
const SIZES: Readonly<Record<string, (parts: string) => string>> = {
  most: (parts) => valueOf(parts, mostOf(parts)),
  'too many': (parts) => valueOf(parts, MOST_CHARACTERS),
  broken: (parts) => valueOf(parts, mostOf(parts)).slice(0, -1),
}

const draft = fc.record({
  form: fc.constantFrom(...Object.keys(FORMS)),
  parts: fc.constantFrom(...VALUES),
  size: fc.constantFrom('most', 'most', 'too many', 'broken'),
})

describe('a form of the console, made of many of anything', () => {
  let t: TestEngine
  let visitor: Visitor
  let _token: string
  beforeAll(async () => {
    const clock = testClock({ mode: 'manual', maxSteps: 1_000_000 })
    t = await createTestEngine({
      tasks: [quiet],
      secretKey: KEY,
      clock: Object.assign(clock, { isTurnDue: turnsByTheQuestion() }),
    })
    visitor = await Visitor.loggedIn(t.engine)
    await visitor.get('/tasks')
    _token = visitor.formToken
  })
  afterAll(() => t.close())

  it('is bounded work between two turns of the event loop', async () => {
    const statuses = new Set<number>()
    const law = fc.asyncProperty(draft, async ({ form, parts, size }) => {
      const [path = '', field = ''] = (await FORMS[form]?.(t.engine)) ?? []
      const typed = SIZES[size]?.(parts) ?? ''
      await t.clock.settle()
      using work = countTurnWork()
      const progress = { isOver: false }
      const answer = visitor
        // A form may as well be sent with letters that a browser would escape: more of them fit.
        .get(path, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `_token=${encodeURIComponent(_token)}&form=1&${field}=${typed}`,
        })
        .finally(() => (progress.isOver = true))
      while (!progress.isOver) {
        await new Promise<void>(inNextTurn)
        await t.clock.settle()
      }
      const { status } = await answer
      statuses.add(status)
      expect(work.most(), `${form}: ${parts} ${size}, ${status}`).toBeLessThan(MOST_STEPS)
    })
    await fc.assert(law, { numRuns: 40, examples: EXAMPLES })
    expect([...statuses].toSorted((one, other) => one - other)).toEqual([303, 413, 422])
  })
})

const EXAMPLES: [{ form: string; parts: string; size: string }][] = [
  [{ form: 'the answer of a token', parts: 'numbers', size: 'most' }],
  [{ form: 'a new run of a task', parts: 'numbers', size: 'most' }],
  [{ form: 'the answer of a question', parts: 'members', size: 'too many' }],
  [{ form: 'an answer that a schema checks', parts: 'rows with equal keys', size: 'most' }],
  [{ form: 'a run like another one', parts: 'rows with equal keys', size: 'broken' }],
]
