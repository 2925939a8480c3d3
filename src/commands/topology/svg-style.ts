/** The colours of the picture, light and dark, as its classes name them. */
export const STYLE = `
    .sheet { fill: #ffffff }
    .frame { fill: none; stroke: #d0d7de }
    .card { fill: #f6f8fa; stroke: #d0d7de }
    .bridge { fill: #ddf4ff; stroke: #54aeff }
    .uplink { fill: #dafbe1; stroke: #4ac26b }
    .bad { stroke: #cf222e }
    .wire { fill: none; stroke: #8c959f; stroke-width: 1.5 }
    .nat { stroke: #bf8700; stroke-dasharray: 5 4 }
    .pill { fill: #fff8c5; stroke: #d4a72c }
    text { font: 12px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; fill: #57606a }
    .title { font-weight: 600; font-size: 13px; fill: #1f2328 }
    .mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 11.5px }`
export const DARK = `
      .sheet { fill: #0d1117 }
      .frame { stroke: #30363d }
      .card { fill: #161b22; stroke: #30363d }
      .bridge { fill: #10243e; stroke: #1f6feb }
      .uplink { fill: #0f2a19; stroke: #2ea043 }
      .bad { stroke: #f85149 }
      .wire { stroke: #6e7681 }
      .nat { stroke: #d29922 }
      .pill { fill: #2d2408; stroke: #9e6a03 }
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }`
