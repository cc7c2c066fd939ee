// The laboratory in a notebook: its page in a frame, which tells what is set there. A module of anywidget.
// What the page reads behind #s=, as varicap.explore.link makes it.
async function link(text, files) {
  const state = JSON.stringify({ mode: "text", text, file: "laboratory.toml", files });
  const deflated = new Blob([state]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// What is set already, in another view or before this one was closed, else what the notebook begins with.
async function begin(model) {
  const text = model.get("scenario");
  return text ? link(text, model.get("files")) : model.get("begin");
}

function render({ model, el }) {
  const address = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
  const frame = document.createElement("iframe");
  frame.title = "The laboratory of varicap";
  frame.style.cssText = `display: block; width: 100%; height: ${model.get("height")}px; border: 0`;
  begin(model).then((state) => {
    frame.src = address + state;
  });
  const hear = ({ source, origin, data }) => {
    if (source !== frame.contentWindow || origin !== location.origin || !data?.varicap) return;
    model.set("scenario", data.varicap.toml);
    model.set("files", data.varicap.files);
    model.save_changes();
  };
  addEventListener("message", hear);
  el.append(frame);
  return () => {
    removeEventListener("message", hear);
    URL.revokeObjectURL(address);
  };
}

export default { render };
