import { describe, expect, it } from 'vitest'
import superjson from 'superjson'
import * as z from 'zod'
import { createEngine, type Engine, memoryStorage, task, wait } from 'waitpoint'
import { SETTLE_TOKEN } from '../../../src/core/host/storage-calls.ts'

const SCHEMA = z.object({ decision: z.enum(['approve', 'reject']), note: z.string().optional() })
const LIMIT = z.string().transform(Number)

const approval = task({
  id: 'approval',
  run: async () => {
    const token = await wait.createToken({ message: 'Refund?', schema: SCHEMA, timeout: '2d' })
    const answer = await wait.forToken(token)
    return answer.ok ? answer.output.decision : 'no answer'
  },
})

async function asking(
  options: Parameters<Engine['wait']['createToken']>[0],
): Promise<{ readonly engine: Engine; readonly id: string }> {
  const engine = createEngine({ tasks: [] })
  const { id } = await engine.wait.createToken(options)
  return { engine, id }
}

describe('a question', () => {
  it('is shown with its token, by retrieve and list', async () => {
    const question = {
      message: 'Refund € 184?',
      schema: { type: 'string' },
      data: { order: 48_213 },
      approvers: ['role:lead'],
      onTimeoutText: 'The refund is rejected.',
    }
    const { engine, id } = await asking(question)
    await using _ = engine
    expect((await engine.wait.retrieveToken(id)).question).toEqual(question)
    expect((await engine.wait.listTokens()).data.map((token) => token.question)).toEqual([question])
  })

  it('that cannot be asked is found by a run that has asked it before, and refused otherwise', async () => {
    const storage = memoryStorage()
    let pattern = '^a+$'
    const asks = task({
      id: 'asks',
      run: async (id: string) => {
        const schema = { type: 'string', pattern }
        return wait.forToken(await wait.createToken({ name: id, schema, timeout: '2d' })).unwrap()
      },
    })
    const before = createEngine({ tasks: [asks], storage })
    const { id } = await before.trigger(asks, 'refund')
    const [token] = await waitingTokens(before)
    await before.close()
    // As code that was changed, or a version that takes less.
    pattern = '^(a)\\1$'
    await using engine = createEngine({ tasks: [asks], storage })
    await engine.wait.completeToken(token, 'aa')
    const outputs: unknown[] = []
    for await (const { output } of engine.runs.subscribeToRun(id)) outputs.push(output)
    expect(outputs.at(-1)).toBe('aa')
    const another = await engine.trigger(asks, 'another')
    await expect(another.result()).rejects.toThrow('refers back')
  })

  it('is none without any of its options', async () => {
    const { engine, id } = await asking({ tags: 'plain' })
    await using _ = engine
    expect(await engine.wait.retrieveToken(id)).not.toHaveProperty('question')
  })

  it('has the JSON Schema of its schema, or says that it is hidden', async () => {
    const { engine, id } = await asking({ schema: SCHEMA })
    await using _ = engine
    const { id: hidden } = await engine.wait.createToken({ schema: z.date() })
    expect((await engine.wait.retrieveToken(id)).question?.schema).toMatchObject({ type: 'object' })
    expect((await engine.wait.retrieveToken(hidden)).question).toEqual({ isSchemaHidden: true })
  })

  it.each<[string, unknown]>([
    ['a message that is no text', { message: 1 }],
    ['an empty message', { message: '' }],
    ['a message of more than 10,000 characters', { message: 'x'.repeat(10_001) }],
    ['a schema that is none', { schema: 'text' }],
    ['a pattern that refers back', { schema: { pattern: '^(a)\\1$' } }],
    ['data that is not JSON', { data: 1n }],
    ['data of more than 256 kB', { data: 'x'.repeat(256 * 1_024) }],
    ['one choice', { choices: ['yes'] }],
    ['choices that are equal', { choices: ['yes', 'yes'] }],
    ['choices beside a schema', { choices: ['yes', 'no'], schema: {} }],
    ['no approver', { approvers: [] }],
    ['approvers that are no list', { approvers: 'ann' }],
    ['a text of no answer that is too long', { onTimeoutText: 'x'.repeat(1_001) }],
  ])('is refused with %s, and there is no token', async (_, options) => {
    await using engine = createEngine({ tasks: [] })
    await expect(engine.wait.createToken(options as never)).rejects.toThrow()
    expect((await engine.wait.listTokens()).data).toEqual([])
  })
})

describe('an answer', () => {
  it('that fits completes the token, and the task has it with its type', async () => {
    await using engine = createEngine({ tasks: [approval] })
    const run = await engine.trigger(approval)
    const [token] = await waitingTokens(engine)
    expect(await engine.wait.completeToken(token, { decision: 'approve' })).toEqual({
      success: true,
      status: 'COMPLETED',
    })
    expect(await run.result()).toBe('approve')
  })

  it.each<[string, object, unknown]>([
    ['a schema of code', { schema: SCHEMA }, { decision: 'maybe' }],
    ['a JSON Schema', { schema: { type: 'string' } }, 1],
    ['a schema that JSON Schema cannot say', { schema: z.custom((value) => value === 'x') }, 'y'],
    ['a refinement', { schema: z.string().refine(async (text) => text === 'x') }, 'y'],
    ['choices', { choices: ['yes', 'no'] }, 'maybe'],
    ['nothing, for a JSON Schema', { schema: {} }, undefined],
    ['nothing, for choices', { choices: ['yes', 'no'] }, undefined],
  ])('that does not fit changes nothing: %s', async (_, options, answer) => {
    const { engine, id } = await asking(options)
    await using _engine = engine
    const refused = engine.wait.completeToken(id, answer)
    await expect(refused).rejects.toMatchObject({ code: 'ERR_OUTPUT_INVALID', answer })
    expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })

  it('is stored as it was checked, whatever becomes of it meanwhile', async () => {
    const answer = { decision: 'approve' }
    const { engine, id } = await asking({
      schema: SCHEMA.refine(async () => {
        answer.decision = 'maybe'
        return true
      }),
    })
    await using _ = engine
    await engine.wait.completeToken(id, answer)
    expect((await engine.wait.retrieveToken(id)).output).toEqual({ decision: 'approve' })
  })

  it('is checked by the schema that its token was made with, whatever a later call with its key says', async () => {
    const { engine, id } = await asking({ schema: z.literal('yes'), idempotencyKey: 'key' })
    await using _ = engine
    const again = await engine.wait.createToken({ schema: z.any(), idempotencyKey: 'key' })
    expect(again).toMatchObject({ id, isCached: true })
    await expect(engine.wait.completeToken(id, 'no')).rejects.toThrow('does not fit')
  })

  it.each<[string, object, unknown]>([
    ['a schema of code', { schema: z.object({ at: z.date() }) }, { at: new Date(0) }],
    ['a JSON Schema', { schema: { type: 'string' } }, new Date(0)],
    ['no schema', { message: 'How many?' }, 10n],
  ])('of an engine with a codec is checked as the task will have it: %s', async (_, options, answer) => {
    await using engine = createEngine({ tasks: [], codec: superjson })
    const { id } = await engine.wait.createToken(options)
    expect(await engine.wait.completeToken(id, answer)).toMatchObject({ success: true })
    expect((await engine.wait.retrieveToken(id)).output).toEqual(answer)
  })

  it('says where it does not fit', async () => {
    const { engine, id } = await asking({ schema: SCHEMA })
    await using _ = engine
    await expect(engine.wait.completeToken(id, { decision: 'maybe' })).rejects.toMatchObject({
      message: expect.stringContaining('decision: ') as string,
      issues: [{ path: ['decision'] }],
    })
  })

  it('that is late is late, whether it fits or not', async () => {
    const { engine, id } = await asking({ schema: SCHEMA, timeout: 1 })
    await using _ = engine
    await expect.poll(async () => (await engine.wait.retrieveToken(id)).status).toBe('TIMED_OUT')
    expect(await engine.wait.completeToken(id, 'wrong')).toEqual({ success: false, status: 'TIMED_OUT' })
  })

  it('is stored as it was given, and the task has what the schema makes of it', async () => {
    const limit = task({
      id: 'limit',
      run: async () => {
        const token = await wait.createToken({ schema: LIMIT })
        return wait.forToken(token).unwrap()
      },
    })
    await using engine = createEngine({ tasks: [limit] })
    const run = await engine.trigger(limit)
    const [token] = await waitingTokens(engine)
    await engine.wait.completeToken(token, '42')
    expect(await run.result()).toBe(42)
    expect((await engine.wait.retrieveToken(token)).output).toBe('42')
  })

  it('names the one who gave it, also to the loser', async () => {
    const { engine, id } = await asking({ choices: ['yes', 'no'] })
    await using _ = engine
    const by = { id: 'ann', name: 'Ann', roles: ['role:lead'], via: 'slack' }
    const answeredBy = { id: 'ann', name: 'Ann', via: 'slack' }
    expect(await engine.wait.completeToken(id, 'yes', { by })).toEqual({
      success: true,
      status: 'COMPLETED',
      by: answeredBy,
    })
    expect(await engine.wait.completeToken(id, 'no', { by: { id: 'bob' } })).toEqual({
      success: false,
      status: 'COMPLETED',
      by: answeredBy,
    })
    expect(await engine.wait.retrieveToken(id)).toMatchObject({ output: 'yes', answeredBy })
  })

  it('is told of a plain token too', async () => {
    const { engine, id } = await asking({})
    await using _ = engine
    await engine.wait.completeToken(id, 1, { by: { id: 'ann' } })
    expect((await engine.wait.retrieveToken(id)).answeredBy).toEqual({ id: 'ann', via: 'call' })
  })

  it.each<[string, object | undefined, boolean]>([
    ['no one that is named', undefined, false],
    ['another one', { id: 'eve', roles: ['role:guest'] }, false],
    ['an approver', { id: 'ann' }, true],
    ['one with the role', { id: 'eve', roles: ['role:lead'] }, true],
  ])('by %s is taken from approvers only', async (_, by, isTaken) => {
    const { engine, id } = await asking({ approvers: ['ann', 'role:lead'] })
    await using _engine = engine
    const answered = engine.wait.completeToken(id, 1, by)
    const completed = engine.wait.completeToken(id, 1, by === undefined ? {} : { by: by as never })
    await expect(answered).rejects.toThrow()
    if (isTaken) expect((await completed).success).toBe(true)
    else await expect(completed).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
  })

  it.each<[string, unknown]>([
    ['a text', 'ann'],
    ['no id', {}],
    ['an id that is too long', { id: 'x'.repeat(201) }],
    ['another member', { id: 'ann', mail: 'x' }],
    ['roles that are no list', { id: 'ann', roles: 'lead' }],
    ['too many roles', { id: 'ann', roles: Array.from({ length: 51 }, (_role, at) => `role:${at}`) }],
    ['an id that would pass for a role', { id: 'role:lead' }],
    ['a role twice', { id: 'ann', roles: ['role:lead', 'role:lead'] }],
  ])('by %s is refused', async (_, by) => {
    const { engine, id } = await asking({})
    await using _engine = engine
    await expect(engine.wait.completeToken(id, 1, { by: by as never })).rejects.toThrow()
    expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
  })
})

it('is not won by a completion that asked for its question and is repeated, whatever the winner answered', async () => {
  const storage = memoryStorage()
  await using engine = createEngine({ tasks: [], storage })
  const { id } = await engine.wait.createToken({ choices: ['yes', 'no'] })
  await engine.wait.completeToken(id, 'yes')
  const read = await storage.tokens.get(id, 0)
  const probe = { id, outputJson: '"yes"', by: 'engine', now: 0 }
  expect(await SETTLE_TOKEN.again?.(storage, probe)).toMatchObject({ won: false })
  const answer = { ...probe, question: read?.record.questionJson }
  expect(await SETTLE_TOKEN.again?.(storage, answer)).toMatchObject({ won: true })
})

async function waitingTokens(engine: Engine): Promise<readonly [string]> {
  for await (const tokens of engine.wait.subscribeToTokens()) {
    const [token] = tokens
    if (token !== undefined) return [token.id]
  }
  throw new Error('the engine is closed')
}
