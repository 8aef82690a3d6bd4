import { describe, expect, it } from 'vitest'
import {
  createEngine,
  memoryStorage,
  once,
  task,
  wait,
  type AnyTask,
  type Engine,
  type Storage,
} from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { turn } from '../support/turn.ts'

/** A process that ends, and the next one with other code, on one storage. */
async function* processes(
  storage: Storage,
  ...codes: readonly (readonly AnyTask[])[]
): AsyncGenerator<Engine> {
  for (const tasks of codes) {
    await using engine = createEngine({ tasks, storage })
    yield engine
  }
}

describe('two flows side by side', () => {
  it.each([
    ['equal questions', false],
    ['different questions', true],
  ])('get their own answers after a restart: %s', async (_what, isTagged) => {
    const mails = new Map<string, string>()
    const flow = async (name: string): Promise<readonly unknown[]> => {
      const answers = []
      for (const step of [1, 2]) {
        const token = await wait.createToken({ timeout: '24h', tags: isTagged ? [name] : [] })
        await once(`mail ${name}${step}`, () => void mails.set(`${name}${step}`, token.id))
        answers.push(await wait.forToken(token).unwrap())
      }
      return answers
    }
    const both = task({ id: 'both', run: async () => Promise.all([flow('A'), flow('B')]) })
    const storage = memoryStorage()
    const errors: unknown[] = []
    let id = ''
    const answer = (engine: Engine, name: string): unknown =>
      engine.wait.completeToken(mails.get(name) ?? '', `to ${name}`)
    let life = 0
    for await (const engine of processes(storage, [both], [both])) {
      engine.on('error', (error) => errors.push(error))
      if (life++ === 0) {
        ;({ id } = await engine.trigger(both, undefined))
        while (mails.size < 2) await turn()
        await answer(engine, 'B1')
        while (mails.size < 3) await turn()
        await answer(engine, 'A1')
        while (mails.size < 4) await turn()
        while ((await engine.runs.retrieve(id)).status !== 'WAITING') await turn()
      } else {
        await answer(engine, 'A2')
        await answer(engine, 'B2')
        expect((await engine.runs.poll(id)).output).toEqual([
          ['to A1', 'to A2'],
          ['to B1', 'to B2'],
        ])
      }
    }
    expect(errors).toEqual([])
    expect(mails.size).toBe(4)
  })
})

describe('an engine that still opens', () => {
  it('executes a run that it took over, and its calls find the answers they were given', async () => {
    const asked: string[] = []
    let executions = 0
    const steps = task({
      id: 'steps',
      run: async () => {
        executions += 1
        await once('mail', () => 'sent')
        const token = await wait.createToken({ timeout: '24h' })
        asked.push(token.id)
        return wait.forToken(token).unwrap()
      },
    })
    const storage = memoryStorage()
    const old = createEngine({ tasks: [steps], storage })
    const { id } = await old.trigger(steps, undefined)
    while ((await old.runs.retrieve(id)).status !== 'WAITING') await turn()
    await old.close()
    const [tokenId = ''] = asked
    const listed = createDeferred<void>()
    const slow = wrapStorage(storage, (name, operation) => {
      return name === 'runs.list' ? (...args) => listed.promise.then(() => operation(...args)) : operation
    })
    await using engine = createEngine({ tasks: [steps], storage: slow })
    const opened = engine.ready()
    await using elsewhere = createEngine({ storage })
    await elsewhere.wait.completeToken(tokenId, 'yes')
    while (executions === 1) await turn()
    listed.resolve()
    await opened
    while (asked.length === 1) await turn()
    expect(asked).toEqual([tokenId, tokenId])
    expect((await engine.runs.poll(id)).output).toBe('yes')
  })
})

describe('a race that is decided before an effect of an earlier attempt is called again', () => {
  it.each([
    ['fails', true],
    ['has a result', false],
  ])('has the same winner after a restart: the effect %s there', async (_what, hasFailed) => {
    let calls = 0
    const goOn = createDeferred<undefined>()
    const pay = task({
      id: 'pay',
      retry: { maxAttempts: 2, minTimeoutInMs: 0, maxTimeoutInMs: 0 },
      run: async (_: undefined) => {
        const attempt = calls === 0 ? 'first' : 'second'
        const question = async (tag: string): Promise<string> => {
          await wait.forToken(await wait.createToken({ tags: [tag, attempt] }))
          return tag
        }
        const first = question('a')
        const winner = await Promise.race([first, question('b')])
        await once('pay', () => {
          calls += 1
          if (calls === 1 && hasFailed) throw new Error('no connection')
        })
        if (attempt === 'first') throw new Error('no answer')
        await Promise.all([first, goOn.promise])
        await question('c')
        return winner
      },
    })
    const storage = memoryStorage()
    let id = ''
    for await (const engine of processes(storage, [pay], [pay])) {
      const asked = async (...tags: string[]): Promise<string> => {
        for (;;) {
          const { data } = await engine.wait.listTokens({ tags, status: 'WAITING' })
          const found = data.find((one) => tags.every((tag) => one.tags.includes(tag)))
          if (found !== undefined) return found.id
          await turn()
        }
      }
      if (id === '') {
        id = (await engine.trigger(pay, undefined)).id
        await engine.wait.completeToken(await asked('b', 'first'), null)
        await engine.wait.completeToken(await asked('b', 'second'), null)
        await engine.wait.completeToken(await asked('a', 'second'), null)
        goOn.resolve(undefined)
        await asked('c')
        continue
      }
      await engine.wait.completeToken(await asked('c'), null)
      expect((await engine.runs.poll(id)).output).toBe('b')
    }
  })
})

describe('code that was changed while a run waits', () => {
  const manager = (options: object = {}): Promise<{ id: string }> =>
    wait.createToken({ timeout: '24h', tags: ['manager'], ...options })
  const first = (options?: object): AnyTask =>
    task({
      id: 'pay',
      run: async () => {
        const answer = await wait.forToken(await manager(options)).unwrap()
        return `manager said ${String(answer)}`
      },
    })
  const withQuestionInFront = (tag: string, options?: object, version?: string): AnyTask =>
    task({
      id: 'pay',
      ...(version === undefined ? {} : { version }),
      run: async () => {
        const legal = await wait.forToken(await wait.createToken({ timeout: '24h', tags: [tag] })).unwrap()
        const answer = await wait.forToken(await manager(options)).unwrap()
        return `legal said ${String(legal)}, manager said ${String(answer)}`
      },
    })

  /** The run waits on `before`; its question is answered while `after` is there. */
  async function changed(
    before: AnyTask,
    after: AnyTask,
  ): Promise<{ storage: Storage; id: string; engine: Engine; errors: unknown[] }> {
    const storage = memoryStorage()
    const errors: unknown[] = []
    const old = createEngine({ tasks: [before], storage })
    const { id } = await old.trigger(before, undefined as never)
    while ((await old.runs.retrieve(id)).status !== 'WAITING') await turn()
    await old.close()
    const engine = createEngine({ tasks: [after], storage })
    engine.on('error', (error) => errors.push(error))
    const { data } = await engine.wait.listTokens({ tags: 'manager' })
    expect(await engine.wait.completeToken(data[0]?.id ?? '', 'YES')).toMatchObject({ success: true })
    return { storage, id, engine, errors }
  }

  it.each(['legal', 'manager'])('makes the run stand still, with a question in front: %s', async (tag) => {
    const { engine, id, errors } = await changed(first(), withQuestionInFront(tag))
    while ((await engine.runs.retrieve(id)).status !== 'PENDING_VERSION') await turn()
    expect(errors).toMatchObject([{ error: { code: 'ERR_PENDING_VERSION' } }])
    expect((await engine.wait.listTokens({})).data).toHaveLength(1)
    expect((await engine.runs.list({ status: 'PENDING_VERSION' })).data).toMatchObject([{ id }])
    await engine.close()
  })

  it('goes on where its old code is, and gets its answer there', async () => {
    const before = first()
    const { engine, id, storage } = await changed(before, withQuestionInFront('legal'))
    while ((await engine.runs.retrieve(id)).status !== 'PENDING_VERSION') await turn()
    await engine.close()
    await using back = createEngine({ tasks: [withQuestionInFront('legal', {}, '2'), before], storage })
    await back.ready()
    expect((await back.runs.poll(id)).output).toBe('manager said YES')
  })

  it('goes on at once where the old code stands beside the new', async () => {
    const before = first()
    const storage = memoryStorage()
    const old = createEngine({ tasks: [before], storage })
    const { id } = await old.trigger(before, undefined as never)
    while ((await old.runs.retrieve(id)).status !== 'WAITING') await turn()
    await old.close()
    await using engine = createEngine({ tasks: [withQuestionInFront('legal', {}, '2'), before], storage })
    const { data } = await engine.wait.listTokens({ tags: 'manager' })
    await engine.wait.completeToken(data[0]?.id ?? '', 'YES')
    expect((await engine.runs.poll(id)).output).toBe('manager said YES')
  })

  it('goes on by hand: what fits keeps its answer, and the rest is asked anew', async () => {
    const { engine, id } = await changed(first(), withQuestionInFront('legal'))
    while ((await engine.runs.retrieve(id)).status !== 'PENDING_VERSION') await turn()
    await engine.runs.continueWith(id)
    while ((await engine.runs.retrieve(id)).status !== 'WAITING') await turn()
    const { data } = await engine.wait.listTokens({ status: 'WAITING' })
    expect(data).toMatchObject([{ tags: ['legal'] }])
    await engine.runs.cancel(id)
    await expect(engine.runs.continueWith(id)).rejects.toMatchObject({ code: 'ERR_CANNOT_CONTINUE' })
    await engine.close()
  })

  it('does not matter to waits that have names', async () => {
    const named = { name: 'manager' }
    const { engine, id, errors } = await changed(first(named), withQuestionInFront('legal', named))
    while ((await engine.wait.listTokens({ tags: 'legal' })).data.length === 0) await turn()
    const { data } = await engine.wait.listTokens({ status: 'WAITING' })
    expect(data).toMatchObject([{ tags: ['legal'] }])
    await engine.wait.completeToken(data[0]?.id ?? '', 'NO')
    expect((await engine.runs.poll(id)).output).toBe('legal said NO, manager said YES')
    expect(errors).toEqual([])
    await engine.close()
  })

  it('leaves a named wait at the token that it waited for first', async () => {
    const storage = memoryStorage()
    const tokens = createEngine({ storage, execute: false })
    const [one, other] = [await tokens.wait.createToken(), await tokens.wait.createToken()]
    await tokens.close()
    const code = (token: string, version: string): AnyTask =>
      task({
        id: 'pay',
        version,
        run: async () => {
          if (version === '2') await wait.forToken(other, { name: 'new' })
          return wait.forToken(token, { name: 'manager' }).unwrap()
        },
      })
    let id = ''
    for await (const engine of processes(storage, [code(one.id, '1')], [code(other.id, '2')])) {
      if (id === '') {
        ;({ id } = await engine.tasks.trigger('pay', undefined))
        while ((await engine.runs.retrieve(id)).status !== 'WAITING') await turn()
      } else {
        await engine.wait.completeToken(one, 'YES')
        await engine.wait.completeToken(other, 'NO')
        expect((await engine.runs.poll(id)).output).toBe('YES')
      }
    }
  })

  it('refuses a second wait for a token with one name', async () => {
    const twice = task({
      id: 'twice',
      run: async (token: string) =>
        Promise.all([wait.forToken(token, { name: 'it' }), wait.forToken(token, { name: 'it' })]),
    })
    await using engine = createEngine({ tasks: [twice] })
    const { id } = await engine.wait.createToken()
    const run = await engine.trigger(twice, id)
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'ERR_WAIT_NAMED_TWICE' } })
  })

  it('is gone on with where it is accepted', async () => {
    const before = task({ id: 'pay', version: '1', run: async () => wait.forToken(await manager()).unwrap() })
    const after = task({
      id: 'pay',
      version: '2',
      accepts: ['1'],
      run: async () => `said ${String(await wait.forToken(await manager()).unwrap())}`,
    })
    const { engine, id } = await changed(before, after)
    expect((await engine.runs.poll(id)).output).toBe('said YES')
    await engine.close()
  })

  it('that is accepted and does not fit makes the run stand still all the same', async () => {
    const before = task({ id: 'pay', version: '1', run: async () => wait.forToken(await manager()).unwrap() })
    const after = task({
      id: 'pay',
      version: '2',
      accepts: ['1'],
      run: async () => wait.forToken(await wait.createToken({ tags: ['legal'] })).unwrap(),
    })
    const { engine, id, errors } = await changed(before, after)
    while ((await engine.runs.retrieve(id)).status !== 'PENDING_VERSION') await turn()
    expect(errors).toMatchObject([
      { error: { message: expect.stringMatching(/tags manager, asked at /) as string } },
    ])
    await engine.close()
  })
})
