import type { Hono } from 'hono'
import { html, raw } from 'hono/html'
import { streamSSE } from 'hono/streaming'
import type { Engine, RunReference, Task } from 'waitpoint'
import { z } from 'zod'
import { createApp, readForm } from '../host.ts'
import { messages, said } from './chat.ts'

const sent = z.object({ text: z.string().trim().min(1).max(2_000), key: z.uuid() })

/** Draws what is said, and sends without leaving the page. */
const SCRIPT = `
const [log, form] = [document.getElementById('said'), document.getElementById('send')]
const post = (path, body) => fetch(path, { method: 'POST', body }).catch(() => undefined)
const source = new EventSource('/said')
source.addEventListener('anew', () => log.replaceChildren())
source.onmessage = ({ data }) => {
  const { by, text } = JSON.parse(data)
  if (by === 'you' || log.lastElementChild?.className !== by)
    log.append(Object.assign(document.createElement('p'), { className: by }))
  log.lastElementChild.append(text)
}
form.onsubmit = (event) => {
  event.preventDefault()
  const body = new FormData(form)
  body.set('key', crypto.randomUUID())
  // What is typed meanwhile stays.
  const isSent = (response) => response?.ok && form.text.value === body.get('text')
  void post('/messages', body).then((response) => isSent(response) && form.reset())
}
for (const button of document.querySelectorAll('[data-post]')) button.onclick = () => post(button.dataset.post)
`

/** What the pages start, and what ends their process. */
interface Chat {
  readonly chat: Task<null, string>
  readonly kill: () => void
}

/** A conversation, a button that stops an answer, and one that kills the process. */
export function chatPages(engine: Engine, { chat, kill }: Chat): Hono {
  const app = createApp(engine, { title: 'A chat', top: TOP, live: async () => html`` })
  const inbox = engine.streams.input<string>({ id: messages.id })
  const conversation = async (): Promise<RunReference> => {
    const [last] = (await engine.runs.list({ taskIdentifier: chat.id, limit: 1 })).data
    if (last?.isCompleted === false) return last
    return engine.trigger(chat, null, { idempotencyKey: `after ${last?.id}` })
  }

  // An answer that was cut ends this: the browser connects again, and gets all anew, without what was written in vain.
  app.get('/said', (c) =>
    streamSSE(c, async (stream) => {
      await stream.writeSSE({ event: 'anew', data: '', retry: 300 })
      const pieces = engine.streams.read(await conversation(), said.id, { attempts: 'last' })
      for await (const piece of pieces) await stream.writeSSE({ data: JSON.stringify(piece) })
    }),
  )
  app.post('/messages', async (c) => {
    const form = await readForm(c, sent)
    if (form instanceof Response) return form
    // A form that is sent twice is one message.
    await inbox.send(await conversation(), form.text, { idempotencyKey: form.key })
    return c.body(null, 204)
  })
  app.post('/stop', async (c) => {
    for await (const token of engine.wait.listTokens({ tags: 'stop', status: 'WAITING' }))
      await engine.wait.completeToken(token)
    return c.body(null, 204)
  })
  app.post('/kill', (c) => {
    setImmediate(kill)
    return c.body(null, 204)
  })
  return app
}

const STYLE = `
#said { display: grid; gap: 10px; margin: 20px 0; }
#said p { margin: 0; max-width: 60ch; overflow-wrap: anywhere; }
#said .you { justify-self: end; padding: 6px 12px; border-radius: 12px; background: var(--raised); border: 1px solid var(--line); }
#send label { flex: 1 0 240px; }
#send [type='button'] { background: var(--raised); color: inherit; border-color: var(--field); }
`

const TOP = html`
  <p class="soft">Send a message, and another one while the first is answered: each gets an answer, in order.</p>
  <div id="said" role="log" aria-label="Conversation"></div>
  <form id="send">
    <label>Message <input name="text" required maxlength="2000" autocomplete="off" autofocus /></label>
    <button>Send</button>
    <button type="button" data-post="/stop">Stop the answer</button>
    <button type="button" data-post="/kill">Kill the process</button>
  </form>
  <style>${raw(STYLE)}</style>
  <script>${raw(SCRIPT)}</script>`
