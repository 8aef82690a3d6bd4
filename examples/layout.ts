import { html, raw } from 'hono/html'

/** HTML in which every value is escaped. */
export type Html = ReturnType<typeof html>

/** The page of an application. */
export interface Page {
  readonly title: string
  /** What stays: an introduction, and forms. */
  readonly top: Html
  /** What is drawn anew whenever a run changes. */
  readonly live: () => Promise<Html>
  /** The one who uses the console, where a question has approvers. */
  readonly user?: { readonly id: string; readonly name: string }
}

/** The whole page, as it is now. Its script asks for the live part again at each event of `/changes`. */
export function layout({ title, top, live }: Page): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>${raw(STYLE)}</style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${top}
          <div id="live">${live()}</div>
        </main>
        <nav><a href="/console/inbox">The inbox</a> has what waits for you, and <a href="/console/runs">the console</a> every run.</nav>
        <script>
          const live = document.getElementById('live')
          new EventSource('/changes').onmessage = async () => {
            live.innerHTML = await (await fetch('/live')).text()
          }
        </script>
      </body>
    </html>`
}

const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f7f7f5; --raised: #fff; --line: #e2e1dc; --field: #8a8983; --text: #1a1a19; --soft: #5b5a56; --accent: #3548c8; --ink: #fff;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #101012; --raised: #1a1a1d; --line: #303036; --field: #74747d; --text: #ececee; --soft: #a2a2aa; --accent: #a9b4ff; --ink: #101012; }
}
body { max-width: 860px; margin: 40px auto; padding: 0 20px; font: 15px/1.5 system-ui, sans-serif; background: var(--ground); color: var(--text); }
h1 { font-size: 24px; margin: 0; }
h2 { font-size: 15px; margin: 32px 0 8px; }
p { margin: 6px 0; }
a { color: var(--accent); }
small, .soft { color: var(--soft); }
form { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; margin: 20px 0; }
label { display: grid; gap: 2px; font-size: 13px; }
input, button { font: inherit; padding: 7px 12px; border: 1px solid var(--field); border-radius: 8px; background: var(--raised); color: inherit; }
button { cursor: pointer; background: var(--accent); color: var(--ink); border-color: transparent; }
ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
li { padding: 10px 14px; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); overflow-wrap: anywhere; }
nav { margin-top: 40px; font-size: 13px; }
`
