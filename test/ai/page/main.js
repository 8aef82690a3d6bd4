/* global document, fetch, setTimeout */
import { Chat, useChat } from '@ai-sdk/react'
import { createElement as h, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

/** The page of an application: the published hook, a button that stops the answer, and a connection that is tried again. */
function Page({ support }) {
  const chat = useChat({ chat: support, resume: true })
  const stop = () =>
    fetch('/api/chat/c1/stop', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ streamId: chat.messages.at(-1)?.id }),
    })
  const said = chat.messages.map(
    ({ role, parts }) => `${role}: ${parts.map(({ text = '' }) => text).join('')}`,
  )
  return h(
    'main',
    null,
    h('p', { 'data-testid': 'said' }, said.join(' | ')),
    h('p', { 'data-testid': 'status' }, chat.status),
    h('button', { onClick: () => void chat.sendMessage({ text: 'hello' }) }, 'Send'),
    h('button', { onClick: () => void stop() }, 'Stop'),
  )
}

const { messages } = await (await fetch('/api/chat/c1/messages')).json()
const support = new Chat({
  id: 'c1',
  messages,
  onError: () => setTimeout(() => void support.resumeStream(), 100),
})
createRoot(document.body).render(h(StrictMode, null, h(Page, { support })))
