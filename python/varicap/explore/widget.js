// The laboratory in a notebook: its page in a frame, which tells what is set there. A module of anywidget.
function render({ model, el }) {
  const address = URL.createObjectURL(new Blob([model.get("page")], { type: "text/html" }));
  const frame = document.createElement("iframe");
  frame.title = "The laboratory of varicap";
  frame.style.cssText = `display: block; width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.src = address + model.get("begin");
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || !data?.varicap) return;
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
