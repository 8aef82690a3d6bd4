import { describe, expect, it } from 'vitest'
import { systemClock } from 'waitpoint'
import * as sdk from 'waitpoint/sdk'
import { runs, type AnyTask } from 'waitpoint/sdk'
import { defaultEngine, taskFile } from './task-file.ts'

interface Names extends Record<string, unknown> {
  readonly measured: AnyTask
  readonly calls: Readonly<Record<string, () => unknown>>
  kindOf(error: unknown): string
  byId(): Promise<unknown>
}

const names = await taskFile<Names>('service-names')
const refusals = await taskFile<Pick<Names, 'calls'>>('refusals')
const calls = { ...names.calls, ...refusals.calls }

/** What a call throws or rejects with. */
async function failure(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}

describe('an export that only the hosted service can serve', () => {
  it.each(Object.keys(calls))('refuses %s by its path, and says what to do', async (path) => {
    expect(await failure(calls[path]!)).toMatchObject({
      code: 'ERR_HOSTED_ONLY',
      message: expect.stringMatching(
        new RegExp(`^Cannot call ${path.replaceAll('.', '\\.')} in this process: .{20}`),
      ) as string,
    })
  })

  it('refuses tasks by id, too', async () => {
    expect(await failure(() => names.byId())).toMatchObject({ code: 'ERR_HOSTED_ONLY' })
  })

  it('is a value like others until it is called', async () => {
    // A module namespace, and its members, are awaited and compared by those that load it.
    expect(await Promise.resolve(sdk.query)).toBe(sdk.query)
    expect(Object.keys(sdk.sessions)).toEqual([])
    expect(['open' in sdk.sessions, 'endpoint' in sdk.webhooks, 'then' in sdk.query]).toEqual([
      true,
      true,
      false,
    ])
    expect(sdk.markChatAgentRunForStreamsWarning).not.toThrow()
    expect(new Error('not one') instanceof sdk.SessionHandle).toBe(false)
  })
})

describe('the errors of the hosted service', () => {
  it.each([
    [sdk.BadRequestError, 400],
    [sdk.AuthenticationError, 401],
    [sdk.PermissionDeniedError, 403],
    [sdk.NotFoundError, 404],
    [sdk.ConflictError, 409],
    [sdk.UnprocessableEntityError, 422],
    [sdk.RateLimitError, 429],
  ])('%o has the status %i, and the fields of the answer', (Class, status) => {
    const answer = { message: 'no', code: 'c', param: 'p', type: 't' }
    const error = new Class(status, answer, 'unused', { a: 'b' }, { error: answer })
    expect(error).toBeInstanceOf(sdk.ApiError)
    expect(error).toMatchObject({ ...answer, name: 'TriggerApiError', status, headers: { a: 'b' } })
    expect(error).toMatchObject({ error: answer, body: { error: answer } })
  })

  it.each([
    [undefined, 'down', '500 down'],
    [undefined, undefined, '500 status code (no body)'],
    [{ reason: 'r' }, 'down', '{"reason":"r"}'],
    [{ message: { text: 'x' } }, 'down', '{"text":"x"}'],
  ])('an answer %j with the text %j has the message %s', (answer, text, message) => {
    expect(new sdk.InternalServerError(500, answer, text, undefined).message).toBe(message)
  })

  it('has a message also for no answer at all, and fields of a body beside its error', () => {
    expect(new sdk.ApiError(undefined, undefined, undefined, undefined).message).toBe(
      '(no status code or body)',
    )
    expect(new sdk.ApiError(409, undefined, '', undefined, { code: 'taken' }).code).toBe('taken')
  })

  it('are told apart as an application does', () => {
    const limited = new sdk.RateLimitError(429, {}, '', { 'x-ratelimit-reset': '3500' })
    expect(names.kindOf(limited)).toBe('wait 0')
    const resetAt = systemClock().now() + 600_000
    const later = new sdk.RateLimitError(429, {}, '', { 'x-ratelimit-reset': `${resetAt}` })
    expect(later.millisecondsUntilReset).toBeGreaterThan(0)
    expect(later.millisecondsUntilReset).toBeLessThanOrEqual(600_000)
    expect(new sdk.RateLimitError(429, {}, '', {}).millisecondsUntilReset).toBeUndefined()
    expect(names.kindOf(new sdk.NotFoundError(404, {}, '', undefined))).toBe('missing 404')
    expect(names.kindOf(new sdk.ApiError(418, { code: 'tea' }, '', undefined))).toBe('status 418 tea')
    expect(names.kindOf(new sdk.OutOfMemoryError())).toBe('memory')
    const batch = new sdk.BatchTriggerError('no batch', { phase: 'create', itemCount: 2, cause: limited })
    expect(batch).toMatchObject({ isRateLimited: true, apiError: limited, itemCount: 2, phase: 'create' })
    expect(batch.message).toContain(limited.message)
    expect(names.kindOf(batch)).toBe('batch later')
    expect(names.kindOf(new sdk.BatchTriggerError('no', { phase: 'stream', itemCount: 1 }))).toBe(
      'batch stream',
    )
  })

  it('have the names and the fields of the service that they are of', () => {
    const cause = new sdk.PermissionDeniedError(403, {}, 'no', { h: '1' })
    expect(new sdk.OIDCTokenError('OIDC_REQUEST_FAILED', 'no token', cause)).toMatchObject({
      name: 'OIDCTokenError',
      code: 'OIDC_REQUEST_FAILED',
      message: 'no token',
      status: 403,
      headers: { h: '1' },
      cause,
    })
    const chunk = new sdk.ChatChunkTooLargeError(9, 8, 'text')
    expect([chunk, new Error('small')].map((error) => sdk.isChatChunkTooLargeError(error))).toEqual([
      true,
      false,
    ])
    expect(chunk).toMatchObject({ chunkSize: 9, maxSize: 8, chunkType: 'text' })
    expect(new sdk.WebhookWaiterLimitError('endpoint_limit', 'full')).toMatchObject({
      name: 'WebhookWaiterLimitError',
      reason: 'endpoint_limit',
    })
    expect(new sdk.WebhookIndexingError([], ['two of one id'])).toMatchObject({ problems: ['two of one id'] })
    expect(new sdk.WebhookWaiterCancelledError().message).toBe('The webhook waiter was cancelled')
    for (const Class of [sdk.WebhookError, sdk.WebhookFilterError, sdk.WebhookEndpointNotFoundError])
      expect(new Class('why')).toMatchObject({ name: Class.name, message: 'why' })
  })
})

describe('createCache', () => {
  it('makes a value once, and has it from its store then', async () => {
    await using _t = await defaultEngine(names)
    const { id } = await names.measured.trigger({ text: 'four' })
    expect((await runs.poll(id)).output).toEqual({ first: 4, second: 4, stored: 4, reads: 1 })
  })

  it('says when a value was stored, stores none of a function that throws, and forgets', async () => {
    const store = new sdk.InMemoryCache<number>()
    const cached = sdk.createCache(store)
    await expect(
      cached('a', () => {
        throw new RangeError('none')
      }),
    ).rejects.toThrow('none')
    expect(await store.get('a')).toBeUndefined()
    const before = systemClock().now()
    // A falsy value is a value.
    expect([await cached('a', () => 0), await cached('a', () => 1)]).toEqual([0, 0])
    const stored = await store.get('a')
    expect(stored?.value).toBe(0)
    expect(stored?.metadata.createdTime).toBeGreaterThanOrEqual(before)
    expect(stored?.metadata.createdTime).toBeLessThanOrEqual(systemClock().now())
    store.delete('a')
    expect(await cached('a', () => 2)).toBe(2)
  })
})
