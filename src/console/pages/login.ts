import { html } from '../../primitives/html.ts'
import type { PageContent } from '../page.ts'

/** The page that asks for a secret key. */
export function loginPage(
  base: string,
  { next, problem }: { readonly next: string; readonly problem?: string },
): PageContent {
  return {
    title: 'Log in',
    body: html`<div class="login">
      <h1>waitpoint</h1>
      <form method="post" action="${base}/login?${new URLSearchParams({ next }).toString()}">
        ${problem !== undefined && html`<p class="told bad" role="alert">${problem}</p>`}<label
          >Secret key of the engine<input
            type="password"
            name="key"
            autocomplete="current-password"
            autofocus
            required /></label
        ><button class="main">Log in</button>
      </form>
    </div>`,
  }
}

/** The page for a request that is not answered. */
export function problemPage(
  base: string,
  { message, advice }: { readonly message: string; readonly advice: string },
): PageContent {
  return {
    title: 'Not shown',
    body: html`<div class="login">
      <h1>${message}</h1>
      <p>${advice}</p>
      <p><a href="${base}/runs">To the runs</a></p>
    </div>`,
  }
}
