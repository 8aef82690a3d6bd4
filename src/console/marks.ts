import { html, type Html } from '../primitives/html.ts'

/** The marks of the statuses, drawn once on each page: each is a shape of its own, so that none is known by its color alone. */
export const MARKS: Html = html`<svg class="unseen" aria-hidden="true">
  <symbol id="i-mark" viewBox="0 0 16 16">
    <circle cx="8" cy="8" r="5.8" />
    <circle class="full" cx="8" cy="8" r="1.8" />
  </symbol>
  <defs>
    <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">
      <path d="M-1.5 1.5l3-3M0 6l6-6M4.5 7.5l3-3" />
    </pattern>
  </defs>
  <symbol id="i-search" viewBox="0 0 16 16">
    <circle cx="7" cy="7" r="4.5" />
    <path d="M10.5 10.5l3 3" />
  </symbol>
  <symbol id="i-x" viewBox="0 0 16 16"><path d="M3 3l10 10M13 3 3 13" /></symbol>
  <symbol id="i-right" viewBox="0 0 16 16"><path d="M5 2.5 11 8l-6 5.5" /></symbol>
  <symbol id="i-executing" viewBox="0 0 16 16"><path class="full" d="M5 3.2v9.6L12.6 8z" /></symbol>
  <symbol id="i-waiting" viewBox="0 0 16 16">
    <circle cx="8" cy="8" r="5.5" />
    <path class="full" d="M8 2.5a5.5 5.5 0 0 1 0 11z" />
  </symbol>
  <symbol id="i-queued" viewBox="0 0 16 16">
    <circle cx="8" cy="8" r="5.5" stroke-dasharray="2.2 2.2" />
  </symbol>
  <symbol id="i-delayed" viewBox="0 0 16 16">
    <circle cx="8" cy="8" r="5.5" />
    <path d="M8 5v3l2 1.5" />
  </symbol>
  <symbol id="i-pending-version" viewBox="0 0 16 16">
    <path d="M8 1.8 14.2 8 8 14.2 1.8 8z" />
    <path d="M8 5.4v3M8 10.6v.1" />
  </symbol>
  <symbol id="i-completed" viewBox="0 0 16 16">
    <circle class="full" cx="8" cy="8" r="6.2" />
    <path class="cut" d="M5.2 8.2l2 2 3.6-4" />
  </symbol>
  <symbol id="i-failed" viewBox="0 0 16 16">
    <rect class="full" x="2" y="2" width="12" height="12" rx="2.5" />
    <path class="cut" d="M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8" />
  </symbol>
  <symbol id="i-timed-out" viewBox="0 0 16 16">
    <rect class="full" x="2" y="2" width="12" height="12" rx="2.5" />
    <path class="cut" d="M8 5v3.2l2 1.3" />
  </symbol>
  <symbol id="i-crashed" viewBox="0 0 16 16">
    <path class="full" d="M8 1.8 15 14H1z" />
    <path class="cut" d="M8 6.4v3M8 11.8v.1" />
  </symbol>
  <symbol id="i-canceled" viewBox="0 0 16 16">
    <circle cx="8" cy="8" r="5.5" />
    <path d="M4.3 11.7l7.4-7.4" />
  </symbol>
  <symbol id="i-expired" viewBox="0 0 16 16">
    <path d="M4 2.5h8M4 13.5h8M5 2.5c0 3.5 6 7.5 6 11M11 2.5c0 3.5-6 7.5-6 11" />
  </symbol>
</svg>`
