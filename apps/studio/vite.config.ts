import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: `${import.meta.dirname}/src/page`,
  plugins: [react(), tailwindcss()],
  build: {
    outDir: `${import.meta.dirname}/dist/page`,
    emptyOutDir: true,
    target: 'es2023',
    chunkSizeWarningLimit: 900,
    // The page contains its libraries, and their licences ask for their text.
    license: { fileName: 'licenses.md' },
  },
  logLevel: 'warn',
})
