import { task, wait } from '@trigger.dev/sdk'

interface Approval {
  status: 'approved' | 'rejected'
  at: Date
}

export const publish = task({
  id: 'publish',
  run: async (payload: { doc: string }) => {
    const token = await wait.createToken({ timeout: '24h', tags: [`doc:${payload.doc}`] })
    const result = await wait.forToken<Approval>(token)
    if (!result.ok) return `${payload.doc}: ${result.error.name}`
    return `${payload.doc}: ${result.output.status} in ${result.output.at.getUTCFullYear()}`
  },
})

export const strict = task({
  id: 'strict',
  run: async () => {
    const token = await wait.createToken({ timeout: '1h', idempotencyKey: 'strict', idempotencyKeyTTL: '2h' })
    const approval = await wait.forToken<Approval>(token.id).unwrap()
    return approval.status
  },
})

export const nap = task({
  id: 'nap',
  run: async (payload: { until: Date }) => {
    await wait.for({ minutes: 5 })
    await wait.until({ date: payload.until, throwIfInThePast: false })
    return 'rested'
  },
})

export const answering = task({
  id: 'answering',
  run: async (payload: { token: string }) => {
    await wait.completeToken<Approval>(payload.token, { status: 'approved', at: new Date(0) })
    const { status } = await wait.retrieveToken<Approval>(payload.token)
    const waiting: string[] = []
    for await (const token of wait.listTokens({ status: 'WAITING' })) waiting.push(token.id)
    return { status, waiting: waiting.length }
  },
})
