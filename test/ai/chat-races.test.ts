import type { UIMessageChunk } from 'ai'
import { describe, expect, it } from 'vitest'
import { chatTask, createChatHandler } from 'waitpoint/ai'
import type { Body, ExplorationTools } from 'waitpoint/testing'
import { exploreAll } from '../testing/exploration/bodies.ts'
import { authorize, ChatPage, textsOf } from './chat-page.ts'

/** Says two words; of a tool it asks first. */
function chatOf(t: ExplorationTools) {
  const task = chatTask({
    id: 'chat',
    run: async function* ({ uiMessages }): AsyncGenerator<UIMessageChunk> {
      const last = uiMessages.at(-1)
      const text = last?.parts.find((part) => part.type === 'text')?.text ?? ''
      if (text === 'refund') {
        yield { type: 'tool-input-available', toolCallId: 'c', toolName: 'refund', input: {} }
        yield { type: 'tool-approval-request', approvalId: `a-${uiMessages.length}`, toolCallId: 'c' }
        return
      }
      const call = last?.parts.find((part) => part.type === 'tool-refund')
      if (call !== undefined && 'approval' in call && call.approval.approved === true)
        yield { type: 'tool-output-available', toolCallId: 'c', output: 'refunded' }
      else if (call !== undefined) yield { type: 'tool-output-denied', toolCallId: 'c' }
      yield { type: 'text-start', id: 't' }
      yield { type: 'text-delta', id: 't', delta: 'to ' }
      yield { type: 'text-delta', id: 't', delta: text }
      yield { type: 'text-end', id: 't' }
    },
  })
  t.use(task)
  const fetch = t.serve((engine) => createChatHandler(engine, task, { authorize }))
  const again = async (request: Request): Promise<Response> => {
    for (;;) {
      const response = await fetch(request.clone()).catch(() => undefined)
      if (response !== undefined && response.status < 500) return response
    }
  }
  return new ChatPage(again)
}

/** Waits until nothing is under way. */
async function idle(t: ExplorationTools, page: ChatPage): Promise<void> {
  for (;;) {
    const response = await page.follow()
    await response.body?.cancel()
    if (response.status === 204) return
    await t.clock.sleep(1_000)
  }
}

/** The page sends, and goes away. */
async function sent(page: ChatPage, text: string): Promise<string> {
  const response = await page.send(text)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  await reader.cancel()
  const [, json = ''] = /^data: (.*)/.exec(new TextDecoder().decode(value)) ?? []
  return (JSON.parse(json) as { messageId: string }).messageId
}

const stopBesideMessage: Body = async (t) => {
  const page = chatOf(t)
  const first = await sent(page, 'one')
  await Promise.all([page.stop(first), sent(page, 'two')])
  await idle(t, page)
  const messages = textsOf(await page.messages())
  expect([messages[0], messages.slice(2)]).toEqual(['user: one', ['user: two', 'assistant: to two']])
  expect('assistant: to one').toContain(messages[1])
}

const twoAnswers: Body = async (t) => {
  const page = chatOf(t)
  const turn = await sent(page, 'refund')
  const { id } = await t.waitingToken({ tag: 'question:chat-approval' })
  const { idempotencyKey = '' } = await t.elsewhere.wait.retrieveToken(id)
  const approval = { id: idempotencyKey.split(' ').at(-1)!, approved: false }
  const part = { type: 'tool-refund', toolCallId: 'c', state: 'approval-responded', input: {}, approval }
  const [, told] = await Promise.all([
    page.post({ messages: [{ id: turn, role: 'assistant', parts: [part] }] }).then((r) => r.body?.cancel()),
    t.elsewhere.wait.completeToken(id, { approved: true }, { by: { id: 'bo' } }),
  ])
  await idle(t, page)
  const { output } = await t.elsewhere.wait.retrieveToken<{ approved: boolean }>(id)
  // Time may have been the first.
  expect(output?.approved ?? false).toBe(told.success)
  const call = (await page.messages()).at(-1)?.parts.find(({ type }) => type === 'tool-refund')
  expect(call).toMatchObject({ state: told.success ? 'output-available' : 'output-denied' })
}

const restarts: Body = async (t) => {
  const page = chatOf(t)
  await Promise.all([sent(page, 'one'), page.follow().then((response) => response.body?.cancel())])
  await idle(t, page)
  await sent(page, 'two')
  await idle(t, page)
  const messages = textsOf(await page.messages())
  expect(messages).toEqual(['user: one', 'assistant: to one', 'user: two', 'assistant: to two'])
}

describe('a chat, in every order of what happens at once', () => {
  it.each([
    ['a stop beside a new message', stopBesideMessage],
    ['two answers to one question', twoAnswers],
    ['a page that follows beside a restart', restarts],
  ])('%s', async (_name, body) => {
    const report = await exploreAll(body, { crashes: 'every-commit', budget: { runs: 40 } })
    expect(report.runs).toBe(40)
  })
})
