import { describe, expect, it } from 'vitest'
import { memoryStorage, type RunHandle, runs, type Storage, task, wait } from 'waitpoint'
import { createTestEngine, type TestEngine, type TestEngineOptions } from 'waitpoint/testing'
import { matchers } from 'waitpoint/vitest'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { messageOf } from '../../src/primitives/message.ts'

expect.extend(matchers)

const asking = task({
  id: 'asking',
  run: async () => {
    const token = await wait.createToken({ timeout: '1d', tags: ['ask'] })
    return wait.forToken<string>(token).unwrap()
  },
})

/** A message without what differs from one execution to the next. */
function plain(message: string): string {
  return message
    .replace(/(run|waitpoint|sleep)_\w+/g, '$1_…')
    .replace(/(?:[A-Z]:)?[\w./\\-]*[/\\]([\w-]+\.test\.ts):\d+:\d+/g, '$1:line')
}

const LEFT =
  'Cannot close the test engine: unfinished work is left. Await the calls, the matchers and the waits you began, ' +
  'end the readers you opened (`break`, or `return()` of the iterator), and look at failed runs ' +
  '(`await run.outcome()`).'

/** What the task says that has this function, when a test awaits its result, or else when the engine is closed. */
async function says(run: () => Promise<unknown>, options: TestEngineOptions = {}): Promise<string> {
  const mistaken = task({ id: 'mistaken', run })
  return messageAtEnd({ ...options, tasks: [mistaken, ...(options.tasks ?? [])] }, async (t) =>
    (await t.engine.trigger(mistaken, undefined)).result(),
  )
}

/** What a test fails with that has this body. */
async function messageAtEnd(
  options: TestEngineOptions,
  body: (t: TestEngine) => Promise<unknown>,
): Promise<string> {
  const t = await createTestEngine(options)
  try {
    await body(t)
  } catch (error) {
    await t.close()
    return plain(messageOf(error))
  }
  return t.close().then(
    () => 'nothing',
    (error: unknown) => plain(messageOf(error)),
  )
}

/** What closing says while these promises of the test are not awaited. */
async function saysUnawaited(
  begin: (t: TestEngine) => Promise<readonly Promise<unknown>[]>,
  options: TestEngineOptions = {},
): Promise<string> {
  const begun: Promise<unknown>[] = []
  const message = await messageAtEnd({ ...options, tasks: [asking] }, async (t) => {
    begun.push(...(await begin(t)))
    for (const promise of begun) promise.catch(() => undefined)
  })
  await Promise.allSettled(begun)
  return message
}

describe('a token that was not awaited', () => {
  it('is named in a task', async () => {
    const message = await says(async () => wait.forToken(wait.createToken() as never))
    expect(message).toMatchInlineSnapshot(
      `"Cannot get the output of run "run_…" of task "mistaken": it failed: Cannot use a promise that was not awaited as a token: give its id, or the token that \`await createToken()\` returns"`,
    )
  })

  it('is what may be missing where a task waits for its id', async () => {
    const message = await says(async () => {
      const token: unknown = wait.createToken()
      return wait.forToken((token as { readonly id: string }).id)
    })
    expect(message).toMatchInlineSnapshot(
      `"Cannot get the output of run "run_…" of task "mistaken": it failed: Cannot use undefined as a token: give its id, or the token that \`await createToken()\` returns"`,
    )
  })

  it('is named in a test', async () => {
    const message = await messageAtEnd({}, async (t) =>
      t.complete(t.engine.wait.createToken() as never, 'yes'),
    )
    expect(message).toMatchInlineSnapshot(
      `"Cannot use a promise that was not awaited as a token: give its id, or the token that \`await createToken()\` returns"`,
    )
  })

  it('is named by a matcher', async () => {
    const message = await messageAtEnd({ tasks: [asking] }, async (t) => {
      const run = await t.engine.trigger(asking, undefined)
      await expect(run).toBeWaitingFor(t.engine.wait.createToken() as never)
    })
    expect(message).toMatchInlineSnapshot(
      `"Cannot use a promise that was not awaited as a token: give its id, or the token that \`await t.waitingToken(…)\` returns"`,
    )
  })
})

describe('a run that was not awaited', () => {
  it('is named by a matcher', async () => {
    const message = await messageAtEnd({ tasks: [asking] }, async (t) => {
      const run: unknown = t.engine.trigger(asking, undefined)
      await expect(run as RunHandle<string>).toBeStuck()
    })
    expect(message).toMatchInlineSnapshot(
      `"Cannot use a promise that was not awaited as a run: \`await\` the call of \`trigger\` (\`const run = await t.engine.trigger(…)\`)"`,
    )
  })
})

describe('a tag that is misspelt', () => {
  it('is told with the tokens that wait and those that have timed out', async () => {
    const twice = task({
      id: 'twice',
      run: async () => {
        await wait.forToken(await wait.createToken({ timeout: '1h', tags: ['first'] }))
        await wait.forToken(await wait.createToken({ tags: ['second'] }))
      },
    })
    const message = await messageAtEnd({ tasks: [twice] }, async (t) => {
      await t.engine.trigger(twice, undefined)
      await t.complete({ tag: 'secnod' }, 'yes')
    })
    expect(message.split('\n').slice(0, 3).join('\n')).toMatchInlineSnapshot(`
      "Cannot find a waiting token with tag "secnod": there is none, and none will come. Create it with \`tags: ["secnod"]\`, trigger the task first, or complete its earlier waits first. The tokens there are:
        waitpoint_… [second] waits until 2000-01-01T01:10:00.000Z
        waitpoint_… [first] has timed out at 2000-01-01T01:00:00.000Z"
    `)
  })

  it('is told where there are no tokens', async () => {
    const message = await messageAtEnd({}, async (t) => t.waitingToken({ tag: 'ask' }))
    expect(message).toContain('There are no tokens at all.')
  })
})

describe('a run that is looked at with `not.toBeStuck()`', () => {
  const asked = task({
    id: 'asked',
    run: async () => wait.forToken(await wait.createToken({ tags: ['ask'] })),
  })
  const parent = task({ id: 'parent', run: async () => asked.triggerAndWait(undefined) })
  const nap = task({ id: 'nap', run: async () => wait.for({ hours: 1 }) })

  it('leaves time where it is, so that an answer after it is not late', async () => {
    const message = await messageAtEnd({ tasks: [asking, nap] }, async (t) => {
      const before = t.clock.now()
      const run = await t.engine.trigger(asking, undefined)
      await expect(run).not.toBeStuck()
      await expect(await t.engine.trigger(nap, undefined)).not.toBeStuck()
      expect(t.clock.now()).toBe(before)
      await t.complete({ tag: 'ask' }, 'yes')
      expect(await run.result()).toBe('yes')
      await expect(run).not.toBeStuck()
    })
    expect(message).toBe('nothing')
  })

  it('is told with the token that only the test can answer', async () => {
    const options = { tasks: [asked, parent] }
    const message = await messageAtEnd(options, async (t) => {
      await expect(await t.engine.trigger(asked, undefined)).not.toBeStuck()
    })
    expect(message).toMatchInlineSnapshot(`
      "Expected run "run_…" not to be stuck: only an answer that the test has to give can end it
      run run_… of task "asked", triggered at typical-mistakes.test.ts:line
        waits for waitpoint_… [ask], until 2000-01-01T00:10:00.000Z (the default), created at typical-mistakes.test.ts:line"
    `)
    const ofChild = await messageAtEnd(options, async (t) => {
      await expect(await t.engine.trigger(parent, undefined)).not.toBeStuck()
    })
    expect(ofChild).toContain('waits for the end of')
  })

  it('is not stuck where the default time-out is an answer', async () => {
    const clock = { onUnanswered: 'timeout' } as const
    const message = await messageAtEnd({ tasks: [asked], clock }, async (t) => {
      await expect(await t.engine.trigger(asked, undefined)).not.toBeStuck()
    })
    expect(message).toBe('nothing')
  })
})

describe('a wait that a task did not await', () => {
  it('is named with its task and the line of its token', async () => {
    const message = await says(async () => {
      const token = await wait.createToken({ timeout: '1d', tags: ['ask'] })
      void wait.forToken(token)
    })
    expect(message).toMatchInlineSnapshot(`
      "Cannot close the test engine: unfinished work is left. Await the calls, the matchers and the waits you began, end the readers you opened (\`break\`, or \`return()\` of the iterator), and look at failed runs (\`await run.outcome()\`).
      run run_… of task "mistaken" has ended without awaiting its wait for waitpoint_… [ask], until 2000-01-02T00:00:00.000Z, created at typical-mistakes.test.ts:line"
    `)
  })

  it('is named with its own line when it is a sleep', async () => {
    const message = await says(async () => void wait.for({ hours: 1 }))
    expect(message).toMatchInlineSnapshot(`
      "Cannot close the test engine: unfinished work is left. Await the calls, the matchers and the waits you began, end the readers you opened (\`break\`, or \`return()\` of the iterator), and look at failed runs (\`await run.outcome()\`).
      run run_… of task "mistaken" has ended without awaiting its wait for sleep_…, until 2000-01-01T01:00:00.000Z, created at typical-mistakes.test.ts:line"
    `)
  })

  it('is named with the line of its `unwrap()` when that was not awaited', async () => {
    const message = await says(async () => {
      const token = await wait.createToken({ timeout: '1d', tags: ['ask'] })
      void wait.forToken(token).unwrap()
    })
    expect(message).toMatch(
      /\nrun run_… of task "mistaken" has ended without awaiting `unwrap\(\)` at typical-mistakes\.test\.ts:line, of its wait for waitpoint_… \[ask\], until 2000-01-02T00:00:00\.000Z, created at typical-mistakes\.test\.ts:line$/,
    )
  })

  it('is named so for a child run', async () => {
    const message = await says(async () => void asking.triggerAndWait(undefined).unwrap(), {
      tasks: [asking],
    })
    expect(message).toMatch(
      /has ended without awaiting `unwrap\(\)` at typical-mistakes\.test\.ts:line, of its wait for/,
    )
  })

  it.each<[string, () => Promise<unknown>]>([
    ['the loser of a race', async () => Promise.race([wait.for({ hours: 1 }), wait.for({ hours: 2 })])],
    [
      'a wait that was aborted',
      async () => {
        const leaving = new AbortController()
        void wait.for({ hours: 1, signal: leaving.signal })
        await wait.for({ minutes: 1 })
        leaving.abort()
      },
    ],
    [
      'an `unwrap()` that loses a race',
      async () =>
        Promise.race([
          wait.for({ minutes: 1 }),
          wait.forToken(await wait.createToken({ timeout: '1d' })).unwrap(),
        ]),
    ],
    [
      'an `unwrap()` that has a handler',
      async () =>
        void wait
          .forToken(await wait.createToken({ timeout: '1d' }))
          .unwrap()
          .catch(() => undefined),
    ],
    ['a wait that has a handler', async () => void wait.for({ hours: 1 }).catch(() => undefined)],
  ])('is not %s', async (_what, run) => {
    expect(await says(run)).toBe('nothing')
  })

  it('is not one of a task that failed', async () => {
    const message = await says(async () => {
      void wait.for({ hours: 1 })
      throw new Error('broken')
    })
    expect(message).toContain('broken')
  })
})

describe('a call that was not awaited', () => {
  const quick = task({ id: 'quick', run: async () => 'done' })

  it.each<[string, string, () => Promise<unknown>]>([
    ['createToken', 'createToken', async () => void wait.createToken({ tags: ['ask'] })],
    ['trigger', 'trigger', async () => void quick.trigger(undefined)],
    ['batchTrigger', 'batchTrigger', async () => void quick.batchTrigger([{ payload: undefined }])],
    [
      'completeToken',
      'completeToken',
      async () => {
        const token = await wait.createToken({ timeout: '1d' })
        void wait.completeToken(token, 'yes')
      },
    ],
  ])('is named in a task, with its line: %s', async (_what, name, run) => {
    expect(await says(run, { tasks: [quick] })).toBe(
      `${LEFT}\nrun run_… of task "mistaken" has ended without awaiting its call of \`${name}\` at typical-mistakes.test.ts:line`,
    )
  })

  it.each<[string, string, (t: TestEngine) => void]>([
    ['createToken', 'createToken', (t) => void t.engine.wait.createToken()],
    ['trigger', 'trigger', (t) => void t.engine.trigger(quick, undefined)],
    ['completeToken', 'completeToken', (t) => void t.engine.wait.completeToken('waitpoint_1', 'yes')],
  ])('is named in a test, with its line: %s', async (_what, name, call) => {
    const message = await messageAtEnd({ tasks: [quick] }, async (t) => {
      call(t)
    })
    expect(message).toBe(
      `${LEFT}\nthe test did not await its call of \`${name}\` at typical-mistakes.test.ts:line`,
    )
  })

  it.each<[string, (t: TestEngine) => void]>([
    ['t.complete', (t) => void t.complete({ tag: 'ask' }, 'yes')],
    ['t.waitingToken', (t) => void t.waitingToken({ tag: 'ask' })],
    ['t.clock.advance', (t) => void t.clock.advance('1h')],
  ])('is told once, though it is cut off by the end of the test: %s', async (name, call) => {
    const message = await messageAtEnd({ tasks: [asking] }, async (t) => {
      await t.engine.trigger(asking, undefined)
      call(t)
    })
    expect(message).toBe(
      `${LEFT}\nthe test did not await its call of \`${name}\` at typical-mistakes.test.ts:line`,
    )
  })

  it.each<[string, () => Promise<unknown>]>([
    ['one that the task returns', async () => wait.createToken()],
    [
      'one of several',
      async () => {
        await Promise.all([quick.trigger(undefined), wait.createToken()])
      },
    ],
    [
      'one that is awaited later',
      async () => {
        const triggered = quick.trigger(undefined)
        await wait.for({ hours: 1 })
        await triggered
      },
    ],
    ['one with a handler', async () => void quick.trigger(undefined).catch(() => undefined)],
  ])('is not %s', async (_what, run) => {
    expect(await says(run, { tasks: [quick] })).toBe('nothing')
  })

  it('is not one of a task that the test awaits after its run', async () => {
    let triggered: Promise<unknown> | undefined
    const handing = task({
      id: 'handing',
      run: async () => {
        triggered = quick.trigger(undefined)
      },
    })
    const message = await messageAtEnd({ tasks: [handing, quick] }, async (t) => {
      await (await t.engine.trigger(handing, undefined)).result()
      await triggered
    })
    expect(message).toBe('nothing')
  })

  it('is not one of a task that failed', async () => {
    const message = await says(
      async () => {
        void quick.trigger(undefined)
        throw new Error('broken')
      },
      { tasks: [quick] },
    )
    expect(message).toContain('broken')
    expect(message).not.toContain('awaiting')
  })
})

describe('a matcher that was not awaited', () => {
  it.each<[string, (t: TestEngine) => Promise<unknown>]>([
    [
      'toBeWaitingFor',
      async (t) => [expect(await t.engine.trigger(asking, undefined)).toBeWaitingFor('waitpoint_1')],
    ],
    ['toTimeOutIn', async (t) => [expect(await t.engine.trigger(asking, undefined)).toTimeOutIn('1d')]],
    ['toFinishWithin', async (t) => [expect(await t.engine.trigger(asking, undefined)).toFinishWithin('2d')]],
    [
      'toHaveEmitted',
      async (t) => [expect(await t.engine.trigger(asking, undefined)).toHaveEmitted('news', [])],
    ],
    ['toBeStuck', async (t) => [expect(await t.engine.trigger(asking, undefined)).toBeStuck()]],
  ])('is named with the line of the test: %s', async (_name, begin) => {
    const message = await saysUnawaited(async (t) => (await begin(t)) as readonly Promise<unknown>[])
    expect(message).toBe(`${LEFT}\n"run_…" is still awaited or read at typical-mistakes.test.ts:line`)
  })

  it('is named once, however long storage takes', async () => {
    const memory = memoryStorage()
    const closing = createDeferred<void>()
    const get: Storage['runs']['get'] = async (...asked) => {
      await closing.promise
      return memory.runs.get(...asked)
    }
    const storage = { ...memory, runs: { ...memory.runs, get } }
    const message = await saysUnawaited(
      async (t) => {
        // It does not execute yet: its record is read from storage.
        const run = await t.engine.trigger(asking, undefined, { delay: '1h' })
        const matched = expect(run).toTimeOutIn('1d')
        setImmediate(closing.resolve)
        return [matched]
      },
      { storage },
    )
    expect(message).toBe(`${LEFT}\n"run_…" is still awaited or read at typical-mistakes.test.ts:line`)
  })
})

describe('an answer that the test forgot', () => {
  const asked = task({
    id: 'asked',
    run: async () => wait.forToken(await wait.createToken({ tags: ['ask'] })),
  })

  it('is told with each run and each token once, and without upkeep', async () => {
    const parent = task({ id: 'parent', run: async () => asked.triggerAndWait(undefined) })
    const message = await messageAtEnd({ tasks: [asked, parent] }, async (t) =>
      (await t.engine.trigger(parent, undefined)).result(),
    )
    expect(message).toMatchInlineSnapshot(`
      "Cannot go on waiting for "run_…": the token is never completed, and its timeout is only the default. Complete it in the test, give \`createToken\` a \`timeout\`, or set the clock's \`onUnanswered: 'timeout'\`.
      run run_… of task "parent", triggered at typical-mistakes.test.ts:line
        waits for the end of
          run run_… of task "asked", triggered at typical-mistakes.test.ts:line
            waits for waitpoint_… [ask], until 2000-01-01T00:10:00.000Z (the default), created at typical-mistakes.test.ts:line
      2000-01-01T00:00:00.000Z now"
    `)
  })
})

describe('a promise that never settles in a task', () => {
  it('is reported with the task, and where it was triggered', async () => {
    const message = await says(async () => new Promise(() => undefined), { clock: { ioGraceMs: 5 } })
    // On Postgres the insert of the run has claimed it.
    const whole = message.replace('(executing)', '(executing, last seen at runs.claim)')
    expect(whole).toMatchInlineSnapshot(
      `"Cannot settle the clock: no sign of life for 5 ms of real time, and still busy: "run_…" of task "mistaken", triggered at typical-mistakes.test.ts:line (executing, last seen at runs.claim). Wrap real I/O in \`clock.external(promise)\`, raise \`ioGraceMs\`, find the promise that never settles, or use \`fakeGlobals\` of \`createTestEngine\` for the \`setTimeout\` of a task"`,
    )
  })
})

describe('runs that await the result of one another', () => {
  it('are reported with their circle', async () => {
    const handles: Record<string, RunHandle<unknown>> = {}
    const waitingFor = (id: string, other: string) =>
      task({
        id,
        run: async (): Promise<unknown> => {
          await wait.for({ seconds: 1 })
          return handles[other]?.result()
        },
      })
    const [left, right] = [waitingFor('left', 'right'), waitingFor('right', 'left')]
    const message = await messageAtEnd({ tasks: [left, right] }, async (t) => {
      for (const one of [left, right]) handles[one.id] = await t.engine.trigger(one, undefined)
      await handles['left']?.result()
    })
    const [why, ...graph] = message.split('\n')
    expect(why).toMatchInlineSnapshot(
      `"Cannot go on waiting for "run_…": each of these runs waits for the end of the next: run_… of task "left" -> run_… of task "right" -> run_… of task "left". Let one of them end without the result of the other, or pass what it needs through a token."`,
    )
    expect(graph.slice(0, 4).join('\n')).toMatchInlineSnapshot(`
      "run run_… of task "left", triggered at typical-mistakes.test.ts:line
        waits for the end of
          run run_… of task "right", triggered at typical-mistakes.test.ts:line
            waits for the end of run run_…, which waits for it"
    `)
  })

  it('are not said to be stuck while one of them waits for time to pass', async () => {
    const nap = task({ id: 'nap', run: async () => wait.for({ days: 1 }) })
    const message = await says(
      async () => {
        const run = await nap.trigger(undefined)
        await run.result()
        for await (const _ of runs.subscribeToRun(await nap.trigger(undefined)));
      },
      { tasks: [nap] },
    )
    expect(message).toBe('nothing')
  })
})

describe('a loop of calls that take no time', () => {
  const clock = { maxSteps: 1_500 }

  it.each<[string, () => Promise<unknown>]>([
    [
      'waits of no length',
      async () => {
        for (;;) await wait.for({ seconds: 0 })
      },
    ],
    [
      'looks at a token',
      async () => {
        const token = await wait.createToken({ timeout: '1h' })
        while ((await wait.retrieveToken(token)).status === 'WAITING');
      },
    ],
  ])('is reported with the task and its line: %s', async (_name, run) => {
    const message = await says(run, { clock })
    expect(message).toMatch(
      /^Cannot come to an end: run "run_…" of task "mistaken", triggered at typical-mistakes\.test\.ts:line, has called its engine more than 1500 times at one instant, the last of them at typical-mistakes\.test\.ts:line\. Give its loop a wait/,
    )
  })

  it('is reported so, and ends with its run, where the loop catches every error', async () => {
    let rounds = 0
    const message = await says(
      async () => {
        for (;;) {
          rounds += 1
          await wait.for({ seconds: 0 }).catch(() => undefined)
        }
      },
      { clock },
    )
    expect(message).toMatch(
      /^Cannot come to an end: run "run_…" of task "mistaken", .* at one instant, the last of them at typical-mistakes\.test\.ts:line\./,
    )
    const before = rounds
    await new Promise((resolve) => setImmediate(resolve))
    expect(rounds).toBe(before)
  })

  it('is reported so by settle, too, and leaves the test engine to be closed', async () => {
    const looping = task({
      id: 'looping',
      run: async (): Promise<never> => {
        for (;;) await wait.for({ seconds: 0 })
      },
    })
    const message = await messageAtEnd({ tasks: [looping], clock }, async (t) => {
      await t.engine.trigger(looping, undefined)
      await t.clock.settle()
    })
    expect(message).toContain('of task "looping"')
  })

  it('is none when many runs make few calls each, or one run triggers many', async () => {
    // A storage that takes its time has a timer or two more for each wait, and each counts.
    const few = task({
      id: 'few',
      run: async (waits: boolean) => {
        if (waits) await wait.for({ seconds: 0 })
        else await wait.createToken({ timeout: '1h' })
      },
    })
    const message = await says(
      async () => {
        for (let count = 0; count < 1_200; count++) await few.trigger(count % 4 === 0)
      },
      { tasks: [few], clock },
    )
    expect(message).toBe('nothing')
  })

  it('is none when many runs take turns to make some calls each', async () => {
    const looking = task({
      id: 'looking',
      run: async () => {
        const token = await wait.createToken({ timeout: '1h' })
        for (let count = 0; count < 400; count++) await wait.retrieveToken(token)
      },
    })
    const message = await messageAtEnd({ tasks: [looking], clock }, async (t) => {
      const handles: RunHandle<void>[] = []
      for (let count = 0; count < 16; count++) handles.push(await t.engine.trigger(looking, undefined))
      for (const handle of handles) await handle.result()
    })
    expect(message).toBe('nothing')
  })
})

describe('a loop whose condition never comes', () => {
  const polling = task({
    id: 'polling',
    run: async (): Promise<never> => {
      for (;;) await wait.for({ seconds: 1 })
    },
  })
  const clock = { maxSteps: 20 }

  it('is reported with the task and the line it waits at', async () => {
    const message = await messageAtEnd({ tasks: [polling], clock }, async (t) =>
      (await t.engine.trigger(polling, undefined)).result(),
    )
    expect(message).toMatchInlineSnapshot(`
      "Cannot come to an end: 20 timers fired in one call, most of them "deadline of token". Stop the code that sets them again, such as a loop whose condition never comes, mark upkeep as \`background\`, or raise \`maxSteps\`
      run run_… of task "polling", triggered at typical-mistakes.test.ts:line
        waits for sleep_…, until 2000-01-01T00:00:21.000Z, created at typical-mistakes.test.ts:line"
    `)
  })

  it.each<[string, (t: TestEngine) => Promise<unknown>]>([
    ['until', async (t) => t.clock.until(() => false)],
    ['runAll', async (t) => t.clock.runAll()],
  ])('is reported so by %s, too', async (_name, move) => {
    const message = await messageAtEnd({ tasks: [polling], clock }, async (t) => {
      await t.engine.trigger(polling, undefined)
      await move(t)
    })
    expect(message).toMatch(
      /20 timers fired in one call, most of them "deadline of token".*\nrun run_… of task "polling", triggered at typical-mistakes\.test\.ts:line\n {2}waits for sleep_…, until .*Z, created at typical-mistakes\.test\.ts:line$/,
    )
  })
})

describe('the real time beside virtual time', () => {
  const soon = (): Date => new Date(Date.now() + 3_600_000)
  const sleeper = task({ id: 'sleeper', run: async () => wait.until({ date: soon() }) })
  const answered = task({
    id: 'answered',
    run: async () => {
      for (let n = 0; n < 3; n += 1) {
        const token = await wait.createToken({ timeout: soon() })
        await wait.completeToken(token.id, n)
      }
    },
  })

  async function warnings(
    clock: NonNullable<TestEngineOptions['clock']>,
    run: (t: TestEngine) => Promise<unknown>,
  ) {
    const given: string[] = []
    const listener = ({ name, message }: Error): number => given.push(`${name}: ${plain(message)}`)
    process.on('warning', listener)
    await messageAtEnd({ tasks: [sleeper, answered, asking], clock }, run)
    // A warning is emitted with the next tick.
    await Promise.resolve().then(() => undefined)
    process.off('warning', listener)
    return given
  }

  it.each<[string, (t: TestEngine) => Promise<unknown>]>([
    ['a sleep', async (t) => (await t.engine.trigger(sleeper, undefined)).result()],
    ['a time-out, once for one place', async (t) => (await t.engine.trigger(answered, undefined)).result()],
    ['a delay', async (t) => t.engine.trigger(asking, undefined, { delay: soon() })],
  ])('is warned of, with the place, when it gives %s', async (_name, run) => {
    expect(await warnings({}, run)).toEqual([
      expect.stringMatching(
        /^WaitpointWarning: A wait lasts until \d{4}-\S+Z, \d+ years from the virtual time, 2000-01-01T00:00:00\.000Z: it seems to be made from the real time \(Date\.now\(\), new Date\(\)\), at typical-mistakes\.test\.ts:line\. Give createTestEngine `fakeGlobals: true`, or start its time now: `clock: \{ start: Date\.now\(\) \}`$/,
      ),
    ])
  })

  it('is none of a clock that starts now, nor of an instant that was written down', async () => {
    const far = task({ id: 'far', run: async () => wait.until({ date: new Date('2077-01-01T00:00:00Z') }) })
    expect(
      await warnings({ start: Date.now() }, async (t) =>
        (await t.engine.trigger(sleeper, undefined)).result(),
      ),
    ).toEqual([])
    const t = await createTestEngine({ tasks: [far] })
    expect(await warnings({}, async () => (await t.engine.trigger(far, undefined)).result())).toEqual([])
    await t.close()
  })
})

describe('a result that is awaited while time stands still', () => {
  const nap = task({ id: 'nap', run: async () => wait.for({ hours: 1 }) })
  const STANDSTILL_MS = 20

  it.each(['manual', 'frozen'] as const)(
    'is reported with what waits, where and since when, in mode %s',
    async (mode) => {
      const clock = { mode, standstillMs: STANDSTILL_MS }
      const message = await messageAtEnd({ tasks: [nap], clock }, async (t) =>
        (await t.engine.trigger(nap, undefined)).result(),
      )
      expect(message).toMatch(
        /^Cannot go on waiting for "run_…" at typical-mistakes\.test\.ts:line: time has stood still at 2000-01-01T00:00:00\.000Z for 20 ms of real time, because the clock is in mode "(manual|frozen)"/,
      )
      expect(message).toContain(
        'run run_… of task "nap", triggered at typical-mistakes.test.ts:line\n  waits for sleep_…',
      )
      expect(message).toContain(mode === 'manual' ? 'await clock.until(run.result())' : 'Use mode "auto"')
    },
  )

  it('is reported for a sleep of the test, too', async () => {
    const clock = { mode: 'manual', standstillMs: STANDSTILL_MS } as const
    const message = await messageAtEnd({ clock }, async (t) => t.clock.sleep('5m'))
    expect(message).toMatch(/^Cannot go on waiting for the clock: time has stood still .* "manual"/)
  })

  it('goes on when the test moves time after all', async () => {
    const clock = { mode: 'manual', standstillMs: 60_000 } as const
    const message = await messageAtEnd({ tasks: [nap], clock }, async (t) => {
      const result = (await t.engine.trigger(nap, undefined)).result()
      await t.clock.advance('1h')
      await result
    })
    expect(message).toBe('nothing')
  })

  it('has its promise that never settles reported although time stands still for it', async () => {
    const message = await messageAtEnd(
      { tasks: [asking], clock: { mode: 'manual', ioGraceMs: 5, standstillMs: STANDSTILL_MS } },
      async (t) => {
        t.mock(asking, () => new Promise<string>(() => undefined))
        return (await t.engine.trigger(asking, undefined)).result()
      },
    )
    expect(message).toContain(
      `no sign of life for ${STANDSTILL_MS} ms of real time, and still busy: "run_…" of task "asking"`,
    )
  })
})

describe('a promise given to clock.external that never settles', () => {
  const clock = { standstillMs: 20 }
  const never = new Promise<string>(() => undefined)

  it.each<[string, (t: TestEngine) => Promise<unknown>]>([
    ['an awaited result', async (t) => (await t.engine.trigger(asking, undefined)).result()],
    ['settle', async (t) => t.engine.trigger(asking, undefined).then(() => t.clock.settle())],
    ['advance', async (t) => t.engine.trigger(asking, undefined).then(() => t.clock.advance('1h'))],
    ['until', async (t) => t.engine.trigger(asking, undefined).then(() => t.clock.until(() => false))],
  ])('is reported by %s, with its label and its line', async (_name, body) => {
    const message = await messageAtEnd({ tasks: [asking], clock }, async (t) => {
      t.mock(asking, () => t.clock.external(never, { label: 'the bank' }))
      return body(t)
    })
    expect(message).toMatch(/^Cannot go on waiting for .*: time has stood still .* for 20 ms of real time/)
    expect(message).toContain(
      'because promises given to `clock.external` have not settled: "the bank", at typical-mistakes.test.ts:line.',
    )
    expect(message).toContain('`standstillMs`')
  })
})
