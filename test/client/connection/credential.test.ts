import { describe, expect, it } from 'vitest'
import { rejection } from '../../support/body-task.ts'
import { json, StubService, textBody } from '../stub-service.ts'

const START = Date.UTC(2000, 0)

/** A token that expires so many seconds after the start. */
function tokenUntil(seconds: number): string {
  const payload = { exp: START / 1_000 + seconds }
  return `head.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.signature`
}

/** What each request was sent with. */
function sentWith({ asked }: StubService): (string | null)[] {
  return asked.map(({ headers }) => headers.get('authorization')?.slice('Bearer '.length) ?? null)
}

const canceled = (): Response => json({ id: 'run_1' })

describe('an access token from a function', () => {
  it('is kept until it expires, and asked for once by requests at the same time', async () => {
    let asked = 0
    const accessToken = async (): Promise<string> => {
      asked += 1
      return tokenUntil(60 * asked)
    }
    const stub = new StubService([canceled(), canceled(), canceled(), canceled()], { accessToken })
    await Promise.all([stub.client.runs.cancel('run_1'), stub.client.runs.cancel('run_1')])
    await stub.clock.advance('49s')
    await stub.client.runs.cancel('run_1')
    expect(asked).toBe(1)
    await stub.clock.advance('2s')
    await stub.client.runs.cancel('run_1')
    expect(asked).toBe(2)
    expect(sentWith(stub)).toEqual([60, 60, 60, 120].map(tokenUntil))
  })

  it('is asked for again, once, when the service refuses the kept one', async () => {
    let asked = 0
    const accessToken = (): string => tokenUntil(600 + (asked += 1))
    const refused = (): Response => json({}, { status: 401 })
    const answers = [canceled(), refused(), canceled(), refused(), refused()]
    const stub = new StubService(answers, { accessToken })
    await stub.client.runs.cancel('run_1')
    await stub.client.runs.cancel('run_1')
    expect(asked).toBe(2)
    expect(await rejection(stub.client.runs.cancel('run_1'))).toMatchObject({ code: 'ERR_API_UNAUTHORIZED' })
    expect(asked).toBe(3)
    expect(sentWith(stub)).toEqual([601, 601, 602, 602, 603].map(tokenUntil))
  })

  it('is asked for again, once, for all requests that were refused with it', async () => {
    let asked = 0
    const accessToken = (): string => tokenUntil(600 + (asked += 1))
    const answer = ({ headers }: Request): Response =>
      headers.get('authorization')?.endsWith(tokenUntil(601)) === true
        ? json({}, { status: 401 })
        : canceled()
    const stub = new StubService([canceled(), ...Array.from({ length: 6 }, () => answer)], { accessToken })
    await stub.client.runs.cancel('run_1')
    await Promise.all([1, 2, 3].map(() => stub.client.runs.cancel('run_1')))
    expect(sentWith(stub)).toEqual([601, 601, 601, 601, 602, 602, 602].map(tokenUntil))
    expect(asked).toBe(2)
  })

  it('that says of no end is not asked for again', async () => {
    const stub = new StubService([json({}, { status: 401 })], { accessToken: () => 'opaque' })
    expect(await rejection(stub.client.runs.cancel('run_1'))).toMatchObject({ code: 'ERR_API_UNAUTHORIZED' })
    expect(stub.asked).toHaveLength(1)
  })

  it('does not end a subscription when the function rejects', async () => {
    let asked = 0
    const accessToken = async (): Promise<string> => {
      asked += 1
      if (asked === 2) throw new TypeError('Failed to fetch')
      return 'token'
    }
    const events = { 'content-type': 'text/event-stream' }
    const broken = textBody(['id: 0\ndata: 1\n\n', new Error('reset')], events)
    const stub = new StubService([broken, textBody(['id: 1\ndata: 2\n\n'], events)], { accessToken })
    const chunks: unknown[] = []
    const read = (async () => {
      for await (const chunk of stub.client.streams.read('run_1', 'draft')) chunks.push(chunk)
    })()
    await stub.clock.advance('1m')
    await read
    expect(chunks).toEqual([1, 2])
    expect(asked).toBe(3)
  })
})
