import {
  createEngine,
  type CreatedToken,
  type LinkedToken,
  type CursorPage,
  idempotencyKeys,
  once,
  type RetrievedToken,
  type Token,
  type TokenAbort,
  type TokenLinks,
  type TokenSignal,
  type TokenStatus,
  wait,
  type WaitPromise,
  type WaitpointTimeoutError,
  type WaitResult,
} from 'waitpoint'
import { type Equal, exactly, holds } from './expect-type.ts'

interface Approval {
  readonly approved: boolean
}

const engine = createEngine()

export async function waiting(token: CreatedToken): Promise<void> {
  const promise = wait.forToken<Approval>(token)
  exactly<WaitPromise<Approval>>()(promise)
  const native: Promise<WaitResult<Approval>> = promise
  const result = await native
  if (result.ok) exactly<Approval>()(result.output)
  else exactly<WaitpointTimeoutError>()(result.error)
  // @ts-expect-error The result is not narrowed, so the output may be missing.
  result.output satisfies unknown
  // @ts-expect-error The result is not narrowed, so the error may be missing.
  result.error satisfies unknown

  const output = await wait.forToken<Approval>(token.id).unwrap()
  exactly<Approval>()(output)
  // @ts-expect-error There is no such property.
  output.denied satisfies unknown

  const unknownOutput = await engine.wait.forToken({ id: token.id }).unwrap()
  exactly<unknown>()(unknownOutput)
  // @ts-expect-error What is unknown is to be narrowed first.
  unknownOutput.approved satisfies unknown

  // @ts-expect-error That is no token.
  await wait.forToken(5)
  // @ts-expect-error There is no such option.
  await wait.forToken(token, { timeout: '1h' })
  await wait.forToken(token, new AbortController())
  await wait.forToken(token, {
    signal: new AbortController().signal,
    idempotencyKey: 'k',
    idempotencyKeyTTL: '1d',
  })
}

export async function listening(token: CreatedToken): Promise<void> {
  const stop = await wait.signal<Approval>(token)
  exactly<TokenSignal<Approval>>()(stop)
  const plain: AbortSignal = stop
  exactly<TokenAbort<Approval> | undefined>()(stop.reason)
  exactly<Approval | undefined>()(stop.reason?.output)
  exactly<unknown>()((await engine.wait.signal(token.id)).reason?.output)
  await wait.forToken(token, { signal: plain })
  // @ts-expect-error That is no token.
  await wait.signal(5)
}

export async function creating(): Promise<void> {
  const token = await wait.createToken({ timeout: '24h', tags: ['review'], idempotencyKey: 'k' })
  exactly<LinkedToken>()(token)
  holds<Equal<keyof typeof token, 'id' | 'isCached' | 'url' | 'publicAccessToken' | 'link' | 'linkFor'>>()
  await wait.createToken({ timeout: new Date(0) })
  await wait.createToken({ timeout: 1_000, idempotencyKeyTTL: 5 })
  // @ts-expect-error A timeout is no boolean.
  await wait.createToken({ timeout: true })
  // @ts-expect-error There is no such option.
  await wait.createToken({ timeoutInSeconds: 5 })
  // @ts-expect-error What an engine answers is read only.
  token.id = 'another'
}

export async function completing(token: CreatedToken): Promise<void> {
  const { success, status } = await wait.completeToken(token, { approved: true })
  exactly<boolean>()(success)
  exactly<TokenStatus>()(status)
  holds<Equal<TokenStatus, 'WAITING' | 'COMPLETED' | 'TIMED_OUT'>>()

  const retrieved = await wait.retrieveToken<Approval>(token)
  exactly<RetrievedToken<Approval> & TokenLinks>()(retrieved)
  exactly<Approval | undefined>()(retrieved.output)
  exactly<WaitpointTimeoutError | undefined>()(retrieved.error)
}

export async function listing(): Promise<void> {
  const page = await wait.listTokens({ status: ['WAITING', 'COMPLETED'], period: '7d', from: new Date(0) })
  exactly<CursorPage<Token & TokenLinks>>()(page)
  for await (const token of wait.listTokens({ period: '90m', tags: 'a' })) {
    exactly<Token & TokenLinks>()(token)
    // @ts-expect-error A list never shows an output.
    token.output satisfies unknown
  }
  // @ts-expect-error There is no such status.
  await wait.listTokens({ status: 'DONE' })
}

export async function sleeping(): Promise<void> {
  holds<Equal<ReturnType<typeof wait.for>, Promise<void>>>()
  await wait.for({ hours: 1, seconds: 5 })
  await wait.until({ date: new Date(0), throwIfInThePast: true, idempotencyKey: 'k' })
  // @ts-expect-error There is no such unit.
  await wait.for({ decades: 1 })
  // @ts-expect-error A date is no string.
  await wait.until({ date: '2030-01-01' })
  // @ts-expect-error A date is missing.
  await wait.until({})
}

export async function effects(): Promise<void> {
  const count = await once('count', () => 5)
  exactly<number>()(count)
  const mail = await once('mail', async () => ({ sent: true }))
  exactly<{ sent: boolean }>()(mail)
  const key = await idempotencyKeys.create(['a', 'b'], { scope: 'attempt' })
  exactly<string>()(key)
  // @ts-expect-error There is no such scope.
  await idempotencyKeys.create('a', { scope: 'engine' })
  // @ts-expect-error An effect is a function.
  await once('mail', 5)
}
