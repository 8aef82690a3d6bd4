import { StrictMode } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'
import { App, type Given } from './app.tsx'

declare const GIVEN: Given & { readonly access: string }

const page = (
  <StrictMode>
    <App {...GIVEN} accessToken={() => fetch(GIVEN.access).then((response) => response.text())} />
  </StrictMode>
)
const root = document.getElementById('root') as HTMLElement
if (root.hasChildNodes())
  hydrateRoot(root, page, { onRecoverableError: (error) => console.error('HYDRATION', error) })
else createRoot(root).render(page)
