import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { Guarded } from './parts/guarded.tsx'
import './styles.css'

const root = document.getElementById('page')
if (!root) throw new Error('The page has no place to be drawn in.')
createRoot(root).render(
  <StrictMode>
    <Guarded name="page">
      <App />
    </Guarded>
  </StrictMode>,
)
